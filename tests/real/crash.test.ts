import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Changes } from '../../server/contract/wire'
import { Witness } from '../crash/witness'
import { call, eventually } from '../wire/api'
import { answerOf, Stage } from './stage'

/** Where a turn of the real Hermes Agent stands when something dies, and what it says when it may go on. */
const STANDS = {
  'during start': { prompt: '@@text It has started.', text: 'It has started.', kept: '' },
  'before the first token': { prompt: '@@late 9000 It came late.', text: 'It came late.', kept: '' },
  'in text': { prompt: '@@slow 400 30', text: Array.from({ length: 30 }, (_, i) => `w${i} `).join(''), kept: 'w0 ' },
  'in a tool': { prompt: '@@saycall First.|terminal {"command":"sleep 9; echo built"} &&& @@text Built.', text: 'First.Built.', kept: 'First.' },
  'in an approval': { prompt: '@@call terminal {"command":"rm -rf FOLDER/gone"} &&& @@text Removed.', text: 'Removed.', kept: '' },
  'in a clarify': { prompt: '@@call clarify {"question":"Which colour?","choices":["red","blue"]} &&& @@text Painted.', text: 'Painted.', kept: '' },
} as const
type Stand = keyof typeof STANDS
const stands = Object.keys(STANDS) as Stand[]

const FAULTS = ['the agent is killed', 'the agent hangs', 'our server is killed', 'both are killed'] as const

const openOf = ({ rows }: Changes): { kind: 'approval' | 'clarify'; id: string } | null => {
  for (const row of rows) {
    if ((row.kind === 'tool' || row.kind === 'question') && row.approval?.state === 'open') return { kind: 'approval', id: row.approval.id }
    if (row.kind === 'question' && row.clarify?.state === 'open') return { kind: 'clarify', id: row.clarify.id }
  }
  return null
}

function standsThere(stand: Stand, now: Changes): boolean {
  if (stand === 'during start') return now.turns.length > 0
  if (!now.turns[0]?.runs[0]?.bound) return false
  if (stand === 'before the first token') return true
  if (stand === 'in text') return answerOf(now).includes('w0 ')
  if (stand === 'in a tool') return now.rows.some((row) => row.kind === 'tool' && row.state === 'live')
  return openOf(now) !== null
}

describe.each(FAULTS)('%s', (fault) => {
  let stage: Stage
  const chats = {} as Record<Stand, { session: string; run: string; witness: Witness }>
  /** Ids of the questions that were open when it happened. */
  const asked = {} as Record<Stand, string | undefined>
  /** What stopping each turn of a hung agent answered. */
  const stopped = {} as Record<Stand, unknown>
  const agents = (): number[] => stage.processes().filter(({ command }) => /\bserve\b/.test(command)).map(({ pid }) => pid)

  beforeAll(async () => {
    stage = await Stage.set()
    mkdirSync(join(stage.server.work, 'gone'))
    // A first turn, so that the program runs: what is tried is a chat that starts, not a program that does.
    const warm = await stage.chat()
    await stage.over(warm, await stage.say(warm, '@@text warm'))
    const begin = async (stand: Stand): Promise<void> => {
      const session = await stage.chat()
      const witness = new Witness(session)
      await witness.watch(stage.server.url)
      chats[stand] = { session, witness, run: await stage.say(session, STANDS[stand].prompt.replace('FOLDER', stage.server.work)) }
    }
    const reached = (stand: Stand) => eventually(`the turn stands ${stand}`, async () => standsThere(stand, await stage.changes(chats[stand].session)), 30_000)
    for (const stand of ['in an approval', 'in a clarify', 'in a tool', 'in text', 'before the first token', 'during start'] as const) await begin(stand)
    await Promise.all(stands.map(reached))
    for (const stand of stands) asked[stand] = openOf(await stage.changes(chats[stand].session))?.id
    // What it forks looks like it for a moment.
    const [agent] = await eventually('one program for one profile', () => (agents().length === 1 ? agents() : null))
    if (fault === 'our server is killed' || fault === 'both are killed') await stage.server.kill()
    if (fault === 'the agent is killed' || fault === 'both are killed') process.kill(agent!, 'SIGKILL')
    if (fault === 'the agent hangs') {
      process.kill(agent!, 'SIGSTOP')
      // All of them: the first stop that nothing answers begins the program anew, and with it ends what nobody has stopped.
      for (const stand of stands) stopped[stand] = (await call(stage.server, 'GET /api/chat/cancel', { stream_id: chats[stand].run })).body
    }
    if (fault === 'our server is killed' || fault === 'both are killed') await stage.again()
  }, 120_000)
  afterAll(() => stage?.strike())

  it.each(stands)('in a turn %s', async (stand) => {
    const { session, witness } = chats[stand]
    const { text, kept } = STANDS[stand]
    // A chat that was only starting may have been quick enough, here too.
    if (fault === 'the agent hangs' && stand !== 'during start') expect(stopped[stand]).toMatchObject({ cancelled: true })
    const first = await eventually('the run is settled', async () => {
      const now = await stage.changes(session)
      return now.turns[0]!.runs[0]!.state === 'settled' ? now : null
    }, 30_000)
    const outcome = first.turns[0]!.runs[0]!.outcome
    expect(first.rows.filter((row) => row.kind === 'user')).toHaveLength(1)
    expect(answerOf(first).startsWith(kept), 'what was shown is kept').toBe(true)
    const wanted = { 'the agent is killed': ['interrupted'], 'the agent hangs': ['cancelled'], 'our server is killed': ['interrupted'], 'both are killed': ['interrupted'] }[fault]
    // A chat that was only starting may have been quick enough.
    expect(stand === 'during start' ? [...wanted, 'completed'] : wanted).toContain(outcome)

    if (fault === 'our server is killed' && outcome === 'interrupted') {
      const next = await eventually('the turn goes on', async () => {
        const { turns } = await stage.changes(session)
        return turns[0]!.runs[1] ?? (stand === 'during start' ? { id: null } : null)
      }, 30_000)
      if (next.id !== null) {
        if (stand === 'in an approval' || stand === 'in a clarify') {
          const again = await eventually('the right question is back', async () => openOf(await stage.changes(session)), 30_000)
          expect(again.id).not.toBe(asked[stand])
          const answered = again.kind === 'approval'
            ? await call(stage.server, 'POST /api/approval/respond', { session_id: session, approval_id: again.id, choice: 'once' })
            : await call(stage.server, 'POST /api/clarify/respond', { session_id: session, clarify_id: again.id, response: 'blue' })
          expect(answered.status).toBe(200)
        }
        const whole = await stage.over(session, next.id)
        expect(whole.turns[0]!.runs.at(-1)).toMatchObject({ cause: 'reattached', outcome: 'completed' })
        expect(answerOf(whole).trim()).toBe(text.trim())
        if (stand === 'in an approval') expect(existsSync(join(stage.server.work, 'gone')), 'what was allowed was done').toBe(false)
      }
    } else if (stand === 'in an approval') {
      expect(existsSync(join(stage.server.work, 'gone')), 'nothing runs that was not allowed').toBe(true)
    }

    const now = await stage.over(session)
    expect(now.rows.filter((row) => row.state === 'live')).toEqual([])
    expect(openOf(now)).toBeNull()
    // Until the ladder of the last run has ended, a start is refused.
    const again = await eventually('the next turn starts', () => stage.say(session, '@@text The next turn works.').catch(() => null), 60_000)
    expect(answerOf(await stage.over(session, again))).toMatch(/The next turn works\.$/)
    await witness.verify(stage.server.url)
    witness.close()
  })

  it('leaves no process behind when the server ends', async () => {
    expect(await stage.server.end()).toBe(0)
    await eventually('every process has ended', () => stage.processes().length === 0, 20_000)
  })
})
