import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeHermes } from '../../server/agents/hermes/agent'
import { makeHermesPrograms } from '../../server/agents/hermes/programs'
import { systemFacts } from '../../server/agents/supervise/facts'
import { emptyTranscript, fold } from '../../server/contract/fold'
import type { Row } from '../../server/contract/rows'
import type { Run, Transcript } from '../../server/contract/session'
import type { Started } from '../../server/runs/port'
import { systemTimers } from '../../server/runs/timers'
import { checkInvariants } from '../support/invariants'
import { agentRig } from './rig'

type Rig = ReturnType<typeof agentRig> & { end(): Promise<void> }

/** Real runs on the real way to a program, and in its place one that plays what the real program once said. */
async function recordedRig(seed: number): Promise<Rig> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-recorded-')))
  const home = join(folder, 'home')
  const bin = join(folder, 'agent', 'bin')
  mkdirSync(home)
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(home, 'config.yaml'), 'model:\n  default: fake-model\n')
  writeFileSync(join(home, 'replay.json'), JSON.stringify({ recordings: resolve('tests/agent/recordings/hermes'), seed }))
  symlinkSync(resolve('tests/agent/recorded/hermes.mjs'), join(bin, 'hermes'))
  const profile = { name: 'default', home, scope: home, env: {}, isLaunch: true }
  const failures: unknown[] = []
  const programs = makeHermesPrograms({
    timers: systemTimers(), facts: systemFacts(), folder: join(folder, 'programs'), env: { PATH: process.env.PATH, HOME: folder, HERMES_WEBUI_AGENT_DIR: join(folder, 'agent') }, homedir: folder, managed: true,
    report: (error) => failures.push(error),
  })
  const agent = makeHermes({ timers: systemTimers(), programs, modelOf: async () => null })
  const rig = agentRig(agent, 'hermes', { folder, profile, limits: { ladder: 8_000 } })
  return {
    ...rig,
    async end() {
      await rig.close()
      await agent.end()
      if (failures.length > 0) throw new AggregateError(failures, 'The program reported failures.')
    },
  }
}

interface Seen { session: string; run: Run; rows: Row[]; transcript: Transcript }

const until = async <T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> => {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((done) => setTimeout(done, 5))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`It did not come about: ${what}`)
}

describe.each([1, 2, 3])('recordings of the real Hermes Agent, cut and late by seed %i', (seed) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await recordedRig(seed)
  })
  afterAll(() => rig?.end())

  const seen = async ({ session, run, turn }: Started): Promise<Seen> => {
    const transcript = fold(emptyTranscript(), await rig.store.events(session, { afterSeq: 0, limit: 100_000 }))
    const rows = transcript.order.map((id) => transcript.rows.get(id)!).filter((row) => row.turn === turn && row.kind !== 'user')
    return { session, transcript, rows, run: transcript.turns.get(turn)!.runs.find(({ id }) => id === run)! }
  }

  /** Plays one turn of a recording in a chat of its own; `act` answers what it asks, in the order in which it was answered then. */
  const play = async (number: string, index: number, act: (started: Started) => Promise<void> = async () => undefined): Promise<Seen> => {
    const { id } = await rig.runs.create(rig.profile, { agent: 'hermes', model: null, workspace: rig.workspace })
    const started = await rig.runs.start(rig.profile, { session: id, text: `play ${number} ${index}` })
    await act(started)
    const end = await until(`recording ${number}, turn ${index} ends`, async () => {
      const now = await seen(started)
      return now.run.state === 'settled' && now
    })
    expect(checkInvariants(end.transcript)).toEqual([])
    expect(end.rows.filter((row) => row.state === 'live')).toEqual([])
    return end
  }
  const decide = (choice: string) => async (started: Started): Promise<void> => {
    const approval = await until('a question is asked', async () => (await seen(started)).rows.flatMap((row) => (row.kind === 'tool' && row.approval?.state === 'open' ? [row.approval] : []))[0])
    await rig.runs.decide(rig.profile, { session: started.session, approval: approval.id, choice })
  }
  const shown = ({ rows }: Seen): string[] => rows.map((row) => (row.kind === 'tool' ? `${row.tool.name} ${row.state}` : row.kind === 'answer' || row.kind === 'thought' ? `${row.kind}: ${row.text}` : row.kind))

  it('thought, text and what it used (01)', async () => {
    const end = await play('01', 0)
    expect(shown(end)).toEqual(['thought: I weigh it', 'answer: Hello **world**'])
    expect(end.run).toMatchObject({ outcome: 'completed', usage: { input: 100, output: 10, contextSize: 200_000 } })
  })

  it('text, tools with diffs, text (02)', async () => {
    const end = await play('02', 0)
    expect(shown(end)).toEqual(['answer: I write a file', 'write_file done', 'patch done', 'answer: done'])
    expect(end.rows.flatMap((row) => (row.kind === 'tool' ? [row.tool.diff] : [])).join('\n')).toContain('+three')
  })

  it('a plan, a tool that nobody has, a tool that fails (02)', async () => {
    const end = await play('02', 1)
    expect(shown(end).filter((row) => row !== 'plan').toSorted()).toEqual(['answer: ok', 'nosuchtool failed', 'terminal failed', 'todo done'])
    expect(end.rows.find((row) => row.kind === 'plan')).toMatchObject({ plan: [{ text: 'first', state: 'active' }] })
  })

  it('a command that is allowed, and one that is not (04)', async () => {
    const allowed = await play('04', 0, decide('once'))
    expect(allowed.rows.find((row) => row.kind === 'tool')).toMatchObject({ state: 'done', approval: { state: 'decided', kind: 'once' } })
    const denied = await play('04', 3, decide('deny'))
    expect(denied.rows.find((row) => row.kind === 'tool')).toMatchObject({ state: 'denied', approval: { state: 'decided', kind: 'deny' } })
    expect(denied.run).toMatchObject({ outcome: 'completed' })
  })

  it('a question that ran out (05)', async () => {
    const end = await play('05', 0)
    expect(end.rows.find((row) => row.kind === 'tool')).toMatchObject({ state: 'denied', approval: { state: 'retired', why: 'expired' } })
  })

  it('two clarifying questions and a password (06)', async () => {
    const end = await play('06', 0, async (started) => {
      for (const [question, response] of [['Which colour?', 'blue'], ['Why?', 'free text']] as const) {
        const asked = await until(question, async () => (await seen(started)).rows.flatMap((row) => (row.kind === 'question' && row.clarify?.state === 'open' && row.clarify.question === question ? [row.clarify] : []))[0])
        await rig.runs.answer(rig.profile, { session: started.session, clarify: asked.id, text: response })
      }
      const secret = await until('the password is asked for', async () => (await seen(started)).rows.flatMap((row) => (row.kind === 'question' && row.secret?.state === 'open' ? [row.secret] : []))[0])
      await rig.runs.give(rig.profile, { session: started.session, secret: secret.id, value: null })
    })
    expect(shown(end)).toEqual(['question', 'question', 'terminal failed', 'question', 'answer: thanks'])
  })

  it('stopped in text and in a tool (07)', async () => {
    const stop = (kind: Row['kind']) => async (started: Started): Promise<void> => {
      await until(`there is a ${kind}`, async () => (await seen(started)).rows.some((row) => row.kind === kind))
      expect(await rig.runs.stop(rig.profile, started.run, 'person')).toMatchObject({ cancelled: true })
    }
    const text = await play('07', 0, stop('answer'))
    expect(text.run).toMatchObject({ outcome: 'cancelled' })
    expect('w0 w1 w2 w3 '.startsWith(text.rows.map((row) => row.text).join('')), 'a stop keeps what was shown').toBe(true)
    const tool = await play('07', 1, stop('tool'))
    expect(tool.run).toMatchObject({ outcome: 'cancelled' })
    expect(shown(tool)).toEqual(['terminal cancelled'])
  })

  it.each([[0, 'auth_mismatch', ''], [1, 'rate_limit', ''], [2, 'provider_error', ''], [3, 'provider_garbled', ''], [4, 'provider_error', 'a'], [5, 'no_response', ''], [6, 'provider_garbled', 'half  pair']] as const)('a provider that fails, case %i: %s (10)', async (index, code, said) => {
    const end = await play('10', index)
    expect(end.run).toMatchObject({ outcome: 'failed', problem: { code } })
    expect(end.rows.filter((row) => row.kind === 'answer').map((row) => row.text).join('')).toBe(said)
  })

  it('the tool limit (18)', async () => {
    expect((await play('18', 0)).run).toMatchObject({ outcome: 'completed', reason: 'limit' })
  })

  it('a turn that nobody submitted, after ours (16)', async () => {
    const ours = await play('16', 0)
    const last = await until('it has its own turn', async () => {
      const { turns } = fold(emptyTranscript(), await rig.store.events(ours.session, { afterSeq: 0, limit: 100_000 }))
      const turn = [...turns.values()].at(-1)!
      return turns.size === 2 && turn.runs[0]?.state === 'settled' && turn
    })
    expect(last).toMatchObject({ source: 'agent', runs: [{ outcome: 'completed' }] })
  })

  it('a sub-agent, and the turn in which its work comes back (15)', async () => {
    const ours = await play('15', 0)
    const delegate = ours.rows.find((row) => row.kind === 'tool' && row.tool.name === 'delegate_task')
    expect(delegate).toMatchObject({ state: 'done' })
    await until('it comes back', async () => {
      const { turns } = fold(emptyTranscript(), await rig.store.events(ours.session, { afterSeq: 0, limit: 100_000 }))
      return turns.size === 2 && [...turns.values()].at(-1)!.runs[0]?.state === 'settled'
    })
  })

  it('ten turns at once', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => play('02', 0)))
    for (const end of all) expect(shown(end)).toEqual(['answer: I write a file', 'write_file done', 'patch done', 'answer: done'])
  })
})
