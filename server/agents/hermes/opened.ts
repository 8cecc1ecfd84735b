import type { AgentEvent, Opening } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import type { Result } from './protocol/methods'
import type { SessionInfo } from './protocol/shapes'

/** Whose sessions are ours in Hermes' own lists. */
const SOURCE = 'talaria'

/** Hermes' word for a stored session that it does not have. */
const NO_SESSION = 4007

export interface Opened { live: string; stored: string; info: SessionInfo; /** How it was resumed; absent: it is new. */ resumed?: Result<'session.resume'>; bound?: Extract<AgentEvent, { type: 'session.bound' }>['why'] }

export interface OpeningParts { program: HermesProgram; realpath(path: string): Promise<string> }

/**
 * A live session for a chat: the stored one that it is bound to, or a new one. Refused where Hermes works in another folder than was asked for, which it
 * chooses silently, or for another profile (spec/hermes-rpc.md §3, `session.create`).
 */
export async function openSession(parts: OpeningParts, opening: Pick<Opening, 'cwd' | 'model' | 'effort' | 'foreign' | 'profile'>): Promise<Opened> {
  const opened = (opening.foreign === undefined ? null : await resumeSession(parts.program, opening.foreign)) ?? (await create(parts.program, opening))
  try {
    await check(parts, opened, opening)
  } catch (error) {
    await parts.program.call('session.close', { session_id: opened.live }).catch(() => undefined)
    throw error
  }
  return opened
}

/** Null: Hermes has no such session. */
export async function resumeSession(program: HermesProgram, stored: string): Promise<Opened | null> {
  try {
    const resumed = await program.call('session.resume', { session_id: stored })
    const now = resumed.info?.stored_session_id ?? resumed.session_key ?? stored
    return { live: resumed.session_id, stored: now, info: resumed.info ?? {}, resumed, ...(now === stored ? {} : { bound: 'rotated' as const }) }
  } catch (error) {
    if (error instanceof HermesFault && error.number === NO_SESSION) return null
    throw error
  }
}

async function create(program: HermesProgram, { cwd, model, effort, foreign }: Pick<Opening, 'cwd' | 'model' | 'effort' | 'foreign'>): Promise<Opened> {
  const made = await program.call('session.create', {
    cwd, source: SOURCE, ...(model === null ? {} : { model: model.id, provider: model.provider }), ...(effort === undefined ? {} : { reasoning_effort: effort }),
  })
  return { live: made.session_id, stored: made.stored_session_id, info: made.info ?? {}, bound: foreign === undefined ? 'first' : 'reseeded' }
}

async function check({ program, realpath }: OpeningParts, opened: Opened, { cwd, profile }: Pick<Opening, 'cwd' | 'profile'>): Promise<void> {
  const { info } = opened
  if (info.profile_name !== undefined && info.profile_name !== profile.name) throw new HermesFault('wrong_profile', `Hermes Agent answers for the profile ${info.profile_name}, not for ${profile.name}.`)
  const same = async (theirs: string | undefined): Promise<boolean> => {
    if (theirs === undefined) return false
    const [a, b] = await Promise.all([theirs, cwd].map((path) => realpath(path).catch(() => path)))
    return a === b
  }
  if (await same(info.cwd)) return
  // A resumed session has its own folder; a turn that runs there keeps it.
  if (opened.resumed?.running) return
  if (opened.resumed && (await same((await program.call('session.cwd.set', { session_id: opened.live, cwd })).cwd))) return
  throw new HermesFault('rpc', `Hermes Agent cannot work in ${cwd}.`)
}
