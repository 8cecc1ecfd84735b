import { describe, expect, it } from 'vitest'
import type { AgentEvent, TurnEnd } from '../../../../server/agents/port'
import { settle } from '../../../support/fake-timers'
import { Puppet } from '../../../support/puppet'
import { runsRig } from '../../../support/runs-rig'

async function running() {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  return { ...rig, puppet, session, started }
}

async function ended(events: AgentEvent[], end: TurnEnd) {
  const rig = await running()
  for (const event of events) rig.puppet.turn.emit(event)
  rig.puppet.turn.end(end)
  await settle()
  return rig.runOf(rig.started)
}

const DONE: TurnEnd = { outcome: 'completed' }
const TOOL: AgentEvent[] = [{ type: 'tool.started', call: 'c', name: 'read', verb: 'read' }, { type: 'tool.closed', call: 'c', state: 'done' }]

describe('how a run settles', () => {
  it('case 140: a turn with nothing in it is no answer: it fails as no_response', async () => {
    expect(await ended([], DONE)).toMatchObject({ outcome: 'failed', problem: { code: 'no_response' } })
    expect(await ended([{ type: 'text', delta: ' \n' }], DONE)).toMatchObject({ outcome: 'failed', problem: { code: 'no_response' } })
    expect(await ended([{ type: 'reasoning', delta: 'Let me think.' }, { type: 'usage', usage: { output: 3 } }], DONE)).toMatchObject({ outcome: 'failed', problem: { code: 'no_response' }, usage: { output: 3 } })
  })

  it('a turn with a tool, a question or a whole message in it has completed, and one whose agent says why it is empty too', async () => {
    expect(await ended(TOOL, DONE)).toMatchObject({ outcome: 'completed' })
    expect(await ended([{ type: 'message', text: 'All at once.' }], DONE)).toMatchObject({ outcome: 'completed' })
    expect(await ended([{ type: 'clarify.raised', question: 'q', request: { question: 'Which?', choices: ['a'], free: false } }], DONE)).toMatchObject({ outcome: 'completed' })
    expect(await ended([], { outcome: 'completed', reason: 'empty' })).toMatchObject({ outcome: 'completed', reason: 'empty' })
    expect(await ended([], { outcome: 'failed', problem: { code: 'quota_exhausted', words: 'No credit left.' } })).toMatchObject({ outcome: 'failed', problem: { code: 'quota_exhausted', words: 'No credit left.' } })
  })

  it('an agent that stopped at its limit has completed, and the reason says so', async () => {
    expect(await ended([{ type: 'text', delta: 'I stopped.' }], { outcome: 'completed', reason: 'limit' })).toMatchObject({ outcome: 'completed', reason: 'limit' })
    expect(await ended(TOOL, { outcome: 'completed', reason: 'limit' })).toMatchObject({ outcome: 'completed', reason: 'limit' })
  })

  it('an answer that is equal to the one before is an answer', async () => {
    const rig = await running()
    for (let i = 0; i < 2; i++) {
      if (i > 0) await rig.send(rig.session, 'Hello')
      await settle()
      rig.puppet.turn.emit({ type: 'text', delta: 'Done.' })
      rig.puppet.turn.end(DONE)
      await settle()
    }
    const value = await rig.transcript(rig.session)
    expect(value.order.map((id) => value.rows.get(id)!).map((row) => [row.kind, row.text])).toEqual([['user', 'Hello'], ['answer', 'Done.'], ['user', 'Hello'], ['answer', 'Done.']])
    expect([...value.turns.values()].map((turn) => turn.runs[0]!.outcome)).toEqual(['completed', 'completed'])
  })

  it('every outcome keeps what was written, with usage, times and the time to the first word', async () => {
    for (const outcome of ['completed', 'failed', 'cancelled', 'interrupted'] as const) {
      const rig = await running()
      await rig.timers.advance(120)
      rig.puppet.turn.emit({ type: 'reasoning', delta: 'Hm. ' })
      rig.puppet.turn.emit({ type: 'text', delta: 'Half an answer' })
      await rig.timers.advance(80)
      rig.puppet.turn.end({ outcome, usage: { input: 10, output: 4 } })
      await settle()
      expect(await rig.runOf(rig.started)).toMatchObject({ outcome, usage: { input: 10, output: 4 }, timings: { firstToken: 120, total: 200 } })
      expect(await rig.answer(rig.session)).toBe('Half an answer')
    }
  })

  it('after a restart says when the first word came, as far as the log knows', async () => {
    const rig = await running()
    await rig.timers.advance(300)
    rig.puppet.turn.emit({ type: 'text', delta: 'Half' })
    await rig.timers.advance(700)
    const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: new Puppet() }, timers: rig.timers, seed: 2 })
    await heir.runs.recover()
    expect(await heir.runOf(rig.started)).toMatchObject({ outcome: 'interrupted', timings: { firstToken: 300, total: 1000 } })
  })
})

describe('what the model is told of an answer that broke off', () => {
  const user = { role: 'user', text: 'Hello' }
  const half = { role: 'assistant', text: 'Half an answer' }

  async function broken(act: (rig: Awaited<ReturnType<typeof running>>) => Promise<void> | void, keeps = true) {
    const rig = await running()
    if (keeps) rig.puppet.turn.emit({ type: 'context', messages: [user] })
    rig.puppet.turn.emit({ type: 'text', delta: 'Half an ' })
    rig.puppet.turn.emit({ type: 'text', delta: 'answer' })
    await rig.timers.advance(100)
    await act(rig)
    await settle()
    return rig
  }
  const messages = async (rig: { store: { context(session: string): Promise<{ message: unknown }[]> } }, session: string) => (await rig.store.context(session)).map((item) => item.message)

  it('after a restart is what the rows show, written with the settlement', async () => {
    const rig = await broken(() => {})
    const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: new Puppet() }, seed: 2 })
    await heir.runs.recover()
    expect(await messages(heir, rig.session)).toEqual([user, half])
    await heir.runs.recover()
    expect(await messages(heir, rig.session)).toEqual([user, half])
  })

  it('is the same when the agent died, was silent or was given up, and said once where the agent kept it itself', async () => {
    const died = await broken((rig) => rig.puppet.turn.crash(new Error('gone')))
    expect(await messages(died, died.session)).toEqual([user, half])
    const silent = await broken((rig) => rig.timers.advance(620_000))
    expect(await messages(silent, silent.session)).toEqual([user, half])
    const deaf = await broken(async (rig) => {
      rig.puppet.onStop = () => {}
      await rig.runs.stop(rig.profile, rig.started.run, 'person')
      await rig.timers.advance(16_000)
    })
    expect(await messages(deaf, deaf.session)).toEqual([user, half])
    const kept = await broken((rig) => {
      rig.puppet.turn.emit({ type: 'context', messages: [half] })
      rig.puppet.turn.end({ outcome: 'cancelled' })
    })
    expect(await messages(kept, kept.session)).toEqual([user, half])
  })

  it('leaves with its row when the turn is tried again', async () => {
    const rig = await broken((each) => each.puppet.turn.crash(new Error('gone')))
    await rig.runs.start(rig.profile, { session: rig.session, retry: rig.started.turn })
    expect(await messages(rig, rig.session)).toEqual([user])
  })

  it('is nothing where the agent keeps its own history', async () => {
    const rig = await broken(() => {}, false)
    const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: new Puppet() }, seed: 2 })
    await heir.runs.recover()
    expect(await messages(heir, rig.session)).toEqual([])
  })
})
