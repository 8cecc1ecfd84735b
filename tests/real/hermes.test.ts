import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentEvent, TurnInput } from '../../server/agents/port'
import { emptyTranscript, fold } from '../../server/contract/fold'
import { conformance } from '../agent/conformance'
import { TurnUnderTest } from '../agent/turn'
import { hermesRig } from './hermes-rig'
import type { HermesRig } from './hermes-rig'

conformance('the real Hermes Agent', (options) => hermesRig(options))

describe('a chat on the real Hermes Agent', () => {
  let rig: HermesRig
  beforeAll(async () => {
    rig = await hermesRig()
  })
  afterAll(() => rig?.close())

  it('goes on in a new program when its own was killed between two turns', async () => {
    const turn = (await TurnUnderTest.begin(rig, [{ cue: 'text', deltas: ['First.'] }]))!
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    process.kill(rig.program.status().pid!, 'SIGKILL')
    const next = await turn.another([{ cue: 'text', deltas: ['Second.'] }])
    expect(await next.settled()).toMatchObject({ outcome: 'completed' })
    expect(await next.answer()).toBe('Second.')
    await next.endsWell()
  })

  it('lists the models and efforts that it has, and changes both between two turns', async () => {
    const offers = await rig.real.models!(rig.profile)
    const other = offers.find(({ ref }) => ref.id === 'other-model')!
    expect(other).toMatchObject({ ref: { provider: 'custom' }, efforts: expect.arrayContaining(['none', 'low', 'high']) })
    const events: AgentEvent[] = []
    const session = await rig.real.open({ profile: rig.profile, session: 'ses', cwd: rig.workspace, model: null, context: async () => [] }, (event) => void events.push(event))
    const turn = (more: Partial<TurnInput>) => session.turn({ turn: 't', run: 'r', text: rig.message([{ cue: 'text', deltas: ['Well.'] }])!, model: null, retry: false, ...more })
    expect(await turn({})).toMatchObject({ outcome: 'completed', usage: { input: expect.any(Number), output: expect.any(Number), contextSize: expect.any(Number) } })
    expect(rig.server.told('other-model')).toBe(false)
    expect(await turn({ model: other.ref, effort: 'high' })).toMatchObject({ outcome: 'completed' })
    expect(rig.server.told('other-model')).toBe(true)
    await session.close()
  })

  it('takes a message that begins with a slash for a message', async () => {
    const turn = (await TurnUnderTest.begin(rig, [{ cue: 'text', deltas: ['No command.'] }]))!
    await turn.settled()
    const next = await rig.runs.start(rig.profile, { session: turn.started.session, text: `/help me with this ${rig.message([{ cue: 'text', deltas: ['It was none.'] }])!}` })
    expect(await turn.settled(undefined, next)).toMatchObject({ outcome: 'completed' })
    expect(await turn.answer(next.turn)).toBe('It was none.')
    expect(rig.told('/help me with this', '')).toBe(true)
  })

  it('shows sub-agents under the call that sent them out, and takes what they bring back as a turn', async () => {
    const goal = 'say a word'
    const message = rig.server.script([{ do: 'say', reasoning: [], text: [], bytes: false, calls: [{ name: 'delegate_task', args: { goal } }], then: 'end' }, { do: 'say', reasoning: [], text: ['Sent.'], bytes: false, calls: [], then: 'end' }])
    const { id } = await rig.runs.create(rig.profile, { agent: 'hermes', model: null, workspace: rig.workspace })
    const started = await rig.runs.start(rig.profile, { session: id, text: message })
    const look = async () => fold(emptyTranscript(), await rig.store.events(id, { afterSeq: 0, limit: 100_000 }))
    for (const end = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const { turns } = await look()
      if (turns.size === 2 && [...turns.values()].at(-1)!.runs[0]?.state === 'settled') break
      if (Date.now() > end) throw new Error('It did not come back.')
    }
    const now = await look()
    const steps = [...now.rows.values()].filter((row) => row.kind === 'tool' && row.turn === started.turn)
    expect(steps.map((row) => row.kind === 'tool' && row.tool.name)).toEqual(expect.arrayContaining(['delegate_task', 'subagent']))
    expect(steps.find((row) => row.kind === 'tool' && row.tool.name === 'subagent')).toMatchObject({ parent: steps.find((row) => row.kind === 'tool' && row.tool.name === 'delegate_task')!.id })
    expect([...now.turns.values()].at(-1)).toMatchObject({ source: 'agent', runs: [{ outcome: 'completed' }] })
  })
})
