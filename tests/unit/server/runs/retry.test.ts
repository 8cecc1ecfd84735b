import { describe, expect, it } from 'vitest'
import { Puppet } from '../../../support/puppet'
import { settle } from '../../../support/fake-timers'
import { runsRig } from '../../../support/runs-rig'
import { codeOf } from './code-of'

async function failedTurn(outcome: 'failed' | 'completed' | 'interrupted' = 'failed') {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'The question')
  await settle()
  puppet.turn.emit({ type: 'reasoning', delta: 'hm' })
  puppet.turn.emit({ type: 'text', delta: 'wrong' })
  puppet.turn.emit({ type: 'context', messages: [{ role: 'user' }, { role: 'assistant' }] })
  puppet.turn.end({ outcome, ...(outcome === 'failed' ? { problem: { code: 'provider_error' as const, words: 'Oh no' } } : {}) })
  await settle()
  const retry = (turn = started.turn) => rig.runs.start(rig.profile, { session, retry: turn })
  return { ...rig, puppet, session, started, retry }
}

describe('try again', () => {
  it('retracts what the earlier attempt showed and starts the next run of the same turn in one append', async () => {
    const { retry, session, started, transcript, model, puppet, store } = await failedTurn()
    expect(await store.context(session)).toHaveLength(2)
    const again = await retry()
    expect(again.turn).toBe(started.turn)
    const value = await transcript(session)
    expect([...value.rows.values()].map((row) => [row.kind, row.text])).toEqual([['user', 'The question']])
    expect(value.session!.count).toBe(1)
    expect(value.turns.get(started.turn)!.runs).toMatchObject([{ outcome: 'failed' }, { id: again.run, attempt: 2, cause: 'retried', state: 'running', generation: 2 }])
    const log = [...model.disk.sessions.values()][0]!.log.slice(-2)
    expect(log.map(({ event }) => event.type)).toEqual(['rows.retracted', 'run.started'])
    expect(log[0]!.rev).toBe(log[1]!.rev)
    expect(await store.context(session)).toEqual([])
    await settle()
    expect(puppet.turn.input).toMatchObject({ text: 'The question', retry: true, turn: started.turn, run: again.run })
    puppet.turn.emit({ type: 'text', delta: 'right' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect([...(await transcript(session)).rows.values()].map((row) => row.text)).toEqual(['The question', 'right'])
  })

  it('takes what its tools answered out of the context, too; the question stays', async () => {
    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const { turn } = await rig.send(session, 'The question')
    await settle()
    const tell = (role: string) => puppet.turn.emit({ type: 'context', messages: [{ role }] })
    tell('user')
    for (const call of ['a', 'b']) {
      puppet.turn.emit({ type: 'tool.started', call, name: 'x', verb: 'other' })
      if (call === 'a') tell('assistant')
      await settle()
      puppet.turn.emit({ type: 'tool.closed', call, state: 'done' })
      tell('tool')
      await settle()
    }
    puppet.turn.end({ outcome: 'failed' })
    await settle()
    const roles = async () => (await rig.store.context(session)).map(({ message }) => (message as { role: string }).role)
    expect(await roles()).toEqual(['user', 'assistant', 'tool', 'tool'])
    await rig.runs.start(rig.profile, { session, retry: turn })
    expect(await roles()).toEqual(['user'])
  })

  it('is for a turn that did not complete', async () => {
    const { retry, events, session } = await failedTurn('completed')
    const before = (await events(session)).length
    expect(await codeOf(retry())).toBe('nothing_to_retry')
    expect(await codeOf(retry('trn_none'))).toBe('nothing_to_retry')
    expect((await events(session)).length).toBe(before)
  })

  it('is for the last turn only', async () => {
    const { retry, send, session, puppet, started } = await failedTurn()
    await send(session, 'Another')
    expect(await codeOf(retry(started.turn))).toBe('session_busy')
    await settle()
    puppet.turn.end({ outcome: 'interrupted' })
    await settle()
    expect(await codeOf(retry(started.turn))).toBe('nothing_to_retry')
  })

  it('may be pressed again when it failed again, and once for one key', async () => {
    const { runs, profile, session, started, puppet, transcript } = await failedTurn()
    const input = { session, retry: started.turn, key: 'k', bodyHash: 'h' }
    const [one, two] = await Promise.all([runs.start(profile, input), runs.start(profile, input)])
    expect(two).toEqual(one)
    await settle()
    puppet.turn.end({ outcome: 'failed', problem: { code: 'error' } })
    await settle()
    const third = await runs.start(profile, { session, retry: started.turn, model: { provider: 'other', id: 'better' } })
    expect((await transcript(session)).turns.get(started.turn)!.runs.map((run) => run.attempt)).toEqual([1, 2, 3])
    expect(third.model).toEqual({ provider: 'other', id: 'better' })
    expect((await transcript(session)).session!.model).toEqual({ provider: 'other', id: 'better' })
  })
})
