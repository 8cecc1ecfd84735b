import { describe, expect, test } from 'vitest'
import type { Capability } from '../../../../server/agents/port'
import type { Row, RowKind } from '../../../../server/contract/rows'
import type { Transcript } from '../../../../server/contract/session'
import type { FakeTimers } from '../../../support/fake-timers'
import { checkInvariants } from '../../../support/invariants'
import type { ModelDisk } from '../../../support/model-disk'
import { Remembering } from '../../../support/remembering'
import { runsRig } from '../../../support/runs-rig'
import { codeOf } from './code-of'

/** A chat with an agent that keeps its own history (spec/agents.md §7). */
function rigged(options: { agent?: Remembering; disk?: ModelDisk; timers?: FakeTimers; capabilities?: Capability[] } = {}) {
  const agent = options.agent ?? new Remembering()
  if (options.capabilities) agent.capabilities = options.capabilities
  const rig = runsRig({ agents: { scripted: agent }, ...(options.disk ? { disk: options.disk, seed: 2 } : {}), ...(options.timers ? { timers: options.timers } : {}) })
  const { runs, profile } = rig
  const shown = async (session: string, ...kinds: RowKind[]): Promise<string[]> => {
    const value = await whole(session)
    return value.order.map((id) => value.rows.get(id)!).filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).map(words)
  }
  const whole = async (session: string): Promise<Transcript> => {
    const value = await rig.transcript(session)
    expect(checkInvariants(value)).toEqual([])
    return value
  }
  /** Sends, waits until the agent has it. */
  const ask = async (session: string, text: string, more: { replaceFrom?: string } = {}) => {
    const before = agent.turns.length
    const started = await runs.start(profile, { session, text, ...more })
    await rig.until(async () => agent.turns.length > before || (await rig.runOf(started)).state === 'settled')
    return started
  }
  /** A whole turn. */
  const exchange = async (session: string, text: string, answer: string, stored = answer, more: { replaceFrom?: string } = {}) => {
    const started = await ask(session, text, more)
    agent.say(answer, stored)
    await rig.settled(started)
    return started
  }
  const rowOf = async (session: string, text: string): Promise<string> => [...(await whole(session)).rows.values()].find((row) => row.text === text)!.id
  return { ...rig, agent, shown, whole, ask, exchange, rowOf }
}

function words(row: Row): string {
  if (row.kind === 'tool') return `${row.tool.name}: ${row.tool.result ?? ''}`
  return row.kind === 'divider' ? row.divider.code : row.text
}

describe('after each turn', () => {
  test('the rows that the agent wrote are known as the turn\'s, and the next turn compares one mark and reads nothing', async () => {
    const { chat, agent, exchange, ask, store, whole, rowOf, settled } = rigged()
    const session = await chat()
    const started = await ask(session, 'one')
    agent.uses('c1', 'a.md')
    agent.say('first')
    await settled(started)
    const tool = [...(await whole(session)).rows.values()].find(({ kind }) => kind === 'tool')!.id
    expect((await store.foreign(session)).map(({ ours }) => ours)).toEqual([await rowOf(session, 'one'), tool, tool, await rowOf(session, 'first')])
    const reads = agent.asked.read
    await exchange(session, 'two', 'second')
    expect(agent.asked.read).toBe(reads + 1)
    expect(agent.seen.at(-1)).toEqual(['one', '', 'first', 'two'])
    expect((await whole(session)).session!.foreignMark).toBe(await agent.history.mark(null!, agent.foreign))
  })

  test('only what the turn wrote is read, however long the chat is', async () => {
    const { chat, agent, exchange, store, whole } = rigged()
    const session = await chat()
    for (let i = 0; i < 12; i++) await exchange(session, `question ${i}`, `answer ${i}`)
    const before = { ...agent.asked }
    await exchange(session, 'the last question', 'the last answer')
    // The last row that it had, which is known, the question and the answer.
    expect([agent.asked.read - before.read, agent.asked.rows - before.rows]).toEqual([1, 3])
    expect(await store.foreign(session)).toHaveLength(26)
    expect((await whole(session)).session!.foreignMark).toBe(await agent.history.mark(null!, agent.foreign))
  })

  test('a store that was written anew in the middle of a turn is read whole', async () => {
    const { chat, agent, ask, settled, exchange, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    const started = await ask(session, 'two')
    const kept = agent.store.get(agent.foreign)!
    kept.messages = kept.messages.map((message) => ({ ...message, id: `new ${message.id}` }))
    agent.say('second')
    await settled(started)
    await exchange(session, 'three', 'third')
    expect(await shown(session, 'user')).toEqual(['one', 'two', 'three'])
    expect(await shown(session, 'answer')).toEqual(['first', 'second', 'third'])
  })

  test('a stored answer that is not what was shown wins', async () => {
    const { chat, exchange, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'It is fourty-two.', 'It is forty-two.')
    expect(await shown(session, 'answer')).toEqual(['It is forty-two.'])
    await exchange(session, 'two', ' And with white space \n', 'And with white space')
    expect((await shown(session, 'answer')).at(-1)).toBe(' And with white space \n')
  })

  test('a store that cannot be read does not fail the turn; the next one reads it', async () => {
    const { chat, agent, ask, settled, exchange, whole, store } = rigged()
    const session = await chat()
    const started = await ask(session, 'one')
    agent.onRead = () => { throw new Error('not now') }
    agent.say('first')
    expect(await settled(started)).toMatchObject({ outcome: 'completed' })
    expect((await whole(session)).session!.foreignMark).toBeUndefined()
    agent.onRead = () => undefined
    await exchange(session, 'two', 'second')
    expect((await whole(session)).order).toHaveLength(4)
    expect((await store.foreign(session)).every(({ ours }) => ours !== null)).toBe(true)
  })
})

describe('what another program wrote', () => {
  test('stands before the next message, once, in its order, and the agent sees it', async () => {
    const { chat, agent, exchange, shown, whole } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    agent.write(agent.foreign, { role: 'user', text: 'typed there' })
    agent.write(agent.foreign, { role: 'assistant', text: 'I look.', reasoning: 'Hm.', calls: [{ call: 't1', name: 'terminal', verb: 'run', target: 'ls', args: { command: 'ls' } }] })
    agent.write(agent.foreign, { role: 'tool', call: 't1', state: 'failed', result: 'no such folder' })
    agent.write(agent.foreign, { role: 'assistant', text: 'answered there', calls: [] })
    await exchange(session, 'two', 'second')
    expect(await shown(session)).toEqual(['one', 'first', 'typed there', 'Hm.', 'I look.', 'terminal: no such folder', 'answered there', 'two', 'second'])
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'typed there', 'I look.', 'answered there', 'two'])
    await exchange(session, 'three', 'third')
    const value = await whole(session)
    expect(value.order).toHaveLength(11)
    expect(value.session!.count).toBe(9)
    expect([...value.turns.values()].map(({ runs }) => runs.length)).toEqual([1, 1, 0, 1])
  })

  test('is seen also by a session that was open all the while', async () => {
    const { chat, agent, exchange } = rigged({ capabilities: ['stop', 'background'] })
    const session = await chat()
    await exchange(session, 'one', 'first')
    expect(agent.openings).toHaveLength(1)
    agent.write(agent.foreign, { role: 'user', text: 'typed there' })
    agent.write(agent.foreign, { role: 'assistant', text: 'answered there', calls: [] })
    await exchange(session, 'two', 'second')
    expect(agent.openings).toHaveLength(2)
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'typed there', 'answered there', 'two'])
  })

  test('more than one commit may hold comes in several, whole', async () => {
    const { chat, agent, exchange, whole, events } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    for (let i = 0; i < 230; i++) {
      agent.write(agent.foreign, { role: 'user', text: `question ${i}` })
      agent.write(agent.foreign, { role: 'assistant', text: `answer ${i}`, calls: [] })
    }
    await exchange(session, 'two', 'second')
    const value = await whole(session)
    expect(value.order.map((id) => value.rows.get(id)!.text)).toEqual(['one', 'first', ...Array.from({ length: 230 }, (_, i) => [`question ${i}`, `answer ${i}`]).flat(), 'two', 'second'])
    expect((await events(session)).flatMap((event) => (event.type === 'rows.imported' ? [event.rows] : []))).toEqual([200, 200, 60])
  })

  test('while a turn of ours runs comes before the next one, and is nothing of that turn', async () => {
    const { chat, agent, ask, settled, exchange, shown } = rigged()
    const session = await chat()
    const started = await ask(session, 'one')
    agent.turn.emit({ type: 'text', delta: 'first' })
    agent.write(agent.foreign, { role: 'assistant', text: 'first', calls: [] })
    agent.write(agent.foreign, { role: 'user', text: 'typed there' })
    agent.write(agent.foreign, { role: 'assistant', text: 'answered there', calls: [] })
    agent.turn.end({ outcome: 'completed' })
    await settled(started)
    expect(await shown(session)).toEqual(['one', 'first'])
    await exchange(session, 'two', 'second')
    expect(await shown(session)).toEqual(['one', 'first', 'typed there', 'answered there', 'two', 'second'])
  })

  test('markers and summaries are no messages; a turn that it began by itself while nobody listened is one', async () => {
    const { chat, agent, exchange, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    agent.write(agent.foreign, { role: 'user', text: '[System: the model was changed]', synthetic: 'marker' })
    agent.write(agent.foreign, { role: 'user', text: 'The build is done.', synthetic: 'begins' })
    agent.write(agent.foreign, { role: 'assistant', text: 'It went through.', calls: [] })
    await exchange(session, 'two', 'second')
    expect(await shown(session)).toEqual(['one', 'first', 'The build is done.', 'It went through.', 'two', 'second'])
  })

  test('the same store written anew, with other ids for the same words, brings nothing twice', async () => {
    const { chat, agent, exchange, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    const kept = agent.store.get(agent.foreign)!
    const copies = kept.messages.splice(0)
    agent.write(agent.foreign, { role: 'user', text: '[CONTEXT COMPACTION] one was asked', synthetic: 'marker' })
    for (const { id: _, at: __, ...message } of copies.slice(2)) agent.write(agent.foreign, message)
    agent.write(agent.foreign, { role: 'user', text: 'typed there' })
    agent.write(agent.foreign, { role: 'assistant', text: 'answered there', calls: [] })
    await exchange(session, 'three', 'third')
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'second', 'typed there', 'answered there', 'three', 'third'])
    await exchange(session, 'four', 'fourth')
    expect(await shown(session)).toHaveLength(10)
  })

  test('a store in which nothing is known any more is left, and said so: nothing is guessed', async () => {
    const { chat, agent, exchange, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    const old = agent.foreign
    agent.store.get(old)!.messages.splice(0)
    agent.write(old, { role: 'user', text: 'another chat' })
    agent.write(old, { role: 'assistant', text: 'another answer', calls: [] })
    await exchange(session, 'two', 'second')
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'agent_unmatched', 'agent_reseeded', 'second'])
    expect(agent.foreign).not.toBe(old)
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two'])
  })

  test('a session that the agent has lost is made anew from what stands here', async () => {
    const { chat, agent, exchange, shown, whole } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    agent.store.delete(agent.foreign)
    await exchange(session, 'two', 'second')
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two'])
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'agent_reseeded', 'second'])
    expect((await whole(session)).session!.foreign).toBe(agent.foreign)
    await exchange(session, 'three', 'third')
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'agent_reseeded', 'second', 'three', 'third'])
  })

  test('a store that cannot be read before a turn fails it, and no turn is played', async () => {
    const { chat, agent, exchange, ask, settled } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    agent.onRead = () => { throw new Error('the store is shut') }
    expect(await settled(await ask(session, 'two'))).toMatchObject({ outcome: 'failed', problem: { code: 'agent_unavailable', words: 'the store is shut' } })
    expect(agent.turns).toHaveLength(1)
  })
})

describe('an answer that broke off with our server', () => {
  async function broken(half: string, stored: string | null) {
    const first = rigged()
    const session = await first.chat()
    await first.exchange(session, 'one', 'first')
    await first.ask(session, 'two')
    first.agent.turn.emit({ type: 'text', delta: half })
    await first.timers.advance(100)
    const { agent } = first
    if (stored !== null) agent.write(agent.foreign, { role: 'assistant', text: stored, calls: [] })
    const second = rigged({ agent, disk: first.model.crash(), timers: first.timers })
    await second.runs.recover()
    await second.until(() => second.runs.live().length === 0)
    return { ...second, session }
  }

  test('is whole where the agent has it whole, once', async () => {
    const { session, shown, exchange, agent } = await broken('The sec', 'The second answer')
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'The sec'])
    await exchange(session, 'three', 'third')
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'The second answer', 'three', 'third'])
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two', 'The second answer', 'three'])
  })

  test('stays as it is where the agent has no more of it, and where it has the same', async () => {
    const none = await broken('The sec', null)
    await none.exchange(none.session, 'three', 'third')
    expect(await none.shown(none.session)).toEqual(['one', 'first', 'two', 'The sec', 'three', 'third'])
    const same = await broken('The second', 'The second')
    await same.exchange(same.session, 'three', 'third')
    expect(await same.shown(same.session)).toEqual(['one', 'first', 'two', 'The second', 'three', 'third'])
  })

  test('tried again, is asked once: what the agent had of it is taken back', async () => {
    const { session, shown, runs, profile, agent, until, settled, whole } = await broken('The sec', 'The second answer')
    const turn = [...(await whole(session)).turns.keys()].at(-1)!
    const started = await runs.start(profile, { session, retry: turn })
    await until(() => agent.turns.length === 3)
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two'])
    agent.say('Again')
    await settled(started)
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'Again'])
    expect(agent.words).toEqual(['one', 'first', 'two', 'Again'])
  })

  test('edited, is gone there too, although nothing of it was known yet', async () => {
    const { session, shown, exchange, agent, rowOf } = await broken('The sec', 'The second answer')
    await exchange(session, 'another two', 'Another answer', undefined, { replaceFrom: await rowOf(session, 'two') })
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'another two'])
    expect(await shown(session, 'user', 'answer')).toEqual(['one', 'first', 'another two', 'Another answer'])
    await exchange(session, 'three', 'third')
    expect(await shown(session, 'user', 'answer')).toEqual(['one', 'first', 'another two', 'Another answer', 'three', 'third'])
  })
})

describe('a message sent in the place of another', () => {
  test('takes all behind it away, here and from what the agent knows, before it is asked', async () => {
    const { chat, agent, exchange, shown, whole, rowOf } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    const row = await rowOf(session, 'two')
    await exchange(session, 'two, but better', 'better', undefined, { replaceFrom: row })
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two, but better'])
    expect(agent.words).toEqual(['one', 'first', 'two, but better', 'better'])
    expect(await shown(session)).toEqual(['one', 'first', 'two, but better', 'better'])
    expect((await whole(session)).session!.count).toBe(4)
    expect(agent.asked).toMatchObject({ rewind: 1, seed: 0 })
    await exchange(session, 'three', 'third')
    expect(await shown(session)).toEqual(['one', 'first', 'two, but better', 'better', 'three', 'third'])
  })

  test('also where the store is written anew by that, with other ids', async () => {
    const { chat, agent, exchange, shown, rowOf } = rigged()
    const session = await chat()
    agent.renames = true
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    await exchange(session, 'better', 'so', undefined, { replaceFrom: await rowOf(session, 'two') })
    await exchange(session, 'best', 'so too', undefined, { replaceFrom: await rowOf(session, 'better') })
    expect(agent.asked).toMatchObject({ rewind: 2, seed: 0 })
    expect(await shown(session)).toEqual(['one', 'first', 'best', 'so too'])
    expect(agent.words).toEqual(['one', 'first', 'best', 'so too'])
  })

  test('the first of all: the chat is named by it, and the agent knows nothing but it', async () => {
    const { chat, agent, exchange, shown, whole, rowOf } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    await exchange(session, 'Begin again', 'so', undefined, { replaceFrom: await rowOf(session, 'one') })
    expect(await shown(session)).toEqual(['Begin again', 'so'])
    expect(agent.seen.at(-1)).toEqual(['Begin again'])
    expect((await whole(session)).session!.title).toBe('Begin again')
  })

  test.each([
    ['refuses', (agent: Remembering) => { agent.onRewind = () => { throw new Error('no') } }],
    ['does too little', (agent: Remembering) => { agent.onRewind = (_row, kept) => { kept.messages.at(-1)!.gone = true } }],
    ['does too much', (agent: Remembering) => { agent.onRewind = (_row, kept) => { for (const message of kept.messages) message.gone = true } }],
  ])('where the agent %s the taking back, a new session is made of what stands, and the chat says so', async (_, spoil) => {
    const { chat, agent, exchange, shown, rowOf, whole } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    const old = agent.foreign
    spoil(agent)
    await exchange(session, 'better', 'so', undefined, { replaceFrom: await rowOf(session, 'two') })
    expect(agent.foreign).not.toBe(old)
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'better'])
    expect(await shown(session)).toEqual(['one', 'first', 'better', 'agent_reseeded', 'so'])
    expect((await whole(session)).session!.foreign).toBe(agent.foreign)
  })

  test('what another program wrote behind it stays, and the agent gets a session that holds it', async () => {
    const { chat, agent, exchange, shown, rowOf } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    await exchange(session, 'two', 'second')
    agent.write(agent.foreign, { role: 'user', text: 'typed there' })
    agent.write(agent.foreign, { role: 'assistant', text: 'answered there', calls: [] })
    await exchange(session, 'better', 'so', undefined, { replaceFrom: await rowOf(session, 'two') })
    expect(await shown(session)).toEqual(['one', 'first', 'typed there', 'answered there', 'better', 'agent_reseeded', 'so'])
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'typed there', 'answered there', 'better'])
  })

  test('a server that dies between the edit and the taking back never lets a turn see what is gone', async () => {
    const first = rigged()
    const session = await first.chat()
    await first.exchange(session, 'one', 'first')
    await first.exchange(session, 'two', 'second')
    const { agent } = first
    let reached!: () => void
    const there = new Promise<void>((go) => (reached = go))
    agent.onRead = () => { reached(); throw new Error('never answered') }
    await first.runs.start(first.profile, { session, text: 'better', replaceFrom: await first.rowOf(session, 'two') })
    await there
    agent.onRead = () => undefined
    const second = rigged({ agent, disk: first.model.crash(), timers: first.timers })
    await second.runs.recover()
    await second.exchange(session, 'three', 'third')
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'three'])
    expect(await second.shown(session, 'user')).toEqual(['one', 'better', 'three'])
  })

  test('is refused for what is no message of a person or stands no more, and changes nothing', async () => {
    const { chat, exchange, shown, rowOf, runs, profile } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    const answer = await rowOf(session, 'first')
    for (const replaceFrom of [answer, 'row_nowhere']) expect(await codeOf(runs.start(profile, { session, text: 'x', replaceFrom }))).toBe('nothing_to_edit')
    expect(await shown(session)).toEqual(['one', 'first'])
  })

  test('a key answers for it as for any message', async () => {
    const { chat, exchange, shown, rowOf, runs, profile, agent, settled, until } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    const input = { session, text: 'better', replaceFrom: await rowOf(session, 'one'), key: 'k', bodyHash: 'h' }
    const started = await runs.start(profile, input)
    await until(() => agent.turns.length === 2)
    expect(await runs.start(profile, input)).toEqual(started)
    agent.say('so')
    await settled(started)
    expect(await shown(session)).toEqual(['better', 'so'])
  })
})

describe('a turn tried again', () => {
  test('is asked once: the question of the attempt before is taken back', async () => {
    const { chat, agent, exchange, ask, settled, runs, profile, until, shown } = rigged()
    const session = await chat()
    await exchange(session, 'one', 'first')
    const failed = await ask(session, 'two')
    agent.turn.emit({ type: 'text', delta: 'Half' })
    agent.turn.end({ outcome: 'failed', problem: { code: 'rate_limit' } })
    await settled(failed)
    const again = await runs.start(profile, { session, retry: failed.turn })
    await until(() => agent.turns.length === 3)
    expect(agent.seen.at(-1)).toEqual(['one', 'first', 'two'])
    expect(agent.turn.input.retry).toBe(false)
    agent.say('second')
    await settled(again)
    expect(agent.words).toEqual(['one', 'first', 'two', 'second'])
    expect(await shown(session)).toEqual(['one', 'first', 'two', 'second'])
  })
})
