import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { Refusal } from '../contract/problems'
import type { AgentKind } from '../contract/session'
import { replaceFile } from '../file'
import { makeFolder } from '../folder'
import type { ProfileContext } from '../profiles/context'
import { within } from '../runs/timers'
import type { Agent, Timers } from './port'

const FILE = z.object({ version: z.literal(1), profiles: z.record(z.string(), z.enum(['embedded', 'scripted', 'hermes', 'hermes-gateway', 'acp'])) })

/** ms that the first look for Hermes Agent may take before a chat goes to the built-in agent: it is bound to what it began with. */
const LOOK_MS = 10_000

/** Which agent a profile's new chats use, and who said so: a person, or nobody, and then it is Hermes Agent where a usable one is found (issue 5). */
export interface Chosen { kind: AgentKind; by: 'person' | 'default' }

/** The setting "agent of new chats". A chat is bound at its first turn; a later choice does not move it (spec/agents.md §1). */
export interface AgentChoice {
  /** Never rejects. May wait for the first look at an agent's program, for at most ten seconds. */
  of(profile: ProfileContext): Promise<Chosen>
  /** Durable before it resolves; null gives the choice back to the default. Refuses what this server does not have. */
  choose(profile: ProfileContext, kind: AgentKind | null): Promise<void>
}

/** Always the same agent, whatever anybody chooses: of `--demo`, and of tests. */
export function fixedChoice(kind: AgentKind): AgentChoice {
  return {
    of: () => Promise.resolve({ kind, by: 'default' }),
    choose: () => Promise.reject(new Refusal('bad_request', 'This server was started with one agent for all new chats.')),
  }
}

export interface ChoiceParts {
  /** `<state>/talaria`: `agents.json` there, 0600. */
  folder: string
  agents: Partial<Record<AgentKind, Agent>>
  timers: Timers
}

export function makeChoice({ folder, agents, timers }: ChoiceParts): AgentChoice {
  const path = join(folder, 'agents.json')
  let held: z.output<typeof FILE> | null = null
  let reading: Promise<z.output<typeof FILE>> | null = null
  let queue: Promise<unknown> = Promise.resolve()

  /** A file that cannot be read chooses nothing; it is only written over by a new choice. */
  const load = async (): Promise<z.output<typeof FILE>> => held ?? (await (reading ??= first()))
  const first = async (): Promise<z.output<typeof FILE>> => {
    const text = await readFile(path, 'utf8').catch(() => null)
    if (text !== null) await chmod(path, 0o600).catch(() => undefined)
    return (held = parse(text) ?? { version: 1, profiles: {} })
  }
  const found = async (profile: ProfileContext): Promise<boolean> => {
    const probe = agents.hermes?.probe(profile).then((answer) => answer.state === 'ready', () => false)
    return probe !== undefined && (await within(timers, LOOK_MS, probe, () => false))
  }
  return {
    async of(profile) {
      const { profiles } = await load()
      const kind = Object.hasOwn(profiles, profile.name) ? profiles[profile.name] : undefined
      if (kind !== undefined) return { kind, by: 'person' }
      return { kind: (await found(profile)) ? 'hermes' : 'embedded', by: 'default' }
    },
    choose(profile, kind) {
      if (kind !== null && !agents[kind]) return Promise.reject(new Refusal('agent_unavailable', `This server has no agent of the kind ${kind}.`))
      const work = queue.then(async () => {
        const { [profile.name]: _, ...others } = (await load()).profiles
        const next: z.output<typeof FILE> = { version: 1, profiles: kind === null ? others : { ...others, [profile.name]: kind } }
        try {
          await makeFolder(folder, 0o700)
          await replaceFile(path, `${JSON.stringify(next, null, 2)}\n`)
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code
          throw new Refusal(code === 'ENOSPC' || code === 'EDQUOT' ? 'store_full' : 'store_failed', 'The choice could not be kept.', { words: (error as Error).message })
        }
        held = next
      })
      queue = work.catch(() => undefined)
      return work
    },
  }
}

function parse(text: string | null): z.output<typeof FILE> | null {
  try {
    const file = FILE.safeParse(JSON.parse(text ?? 'null'))
    return file.success ? file.data : null
  } catch {
    return null
  }
}
