import { describe, expect, test } from 'vitest'
import type { Event } from '../../../../server/contract/events'
import { addTouched, apply, emptyTranscript, fold, FoldGap, merge, untouched } from '../../../../server/contract/fold'
import { nextQueued } from '../../../../server/contract/queue'
import type { Transcript } from '../../../../server/contract/session'
import type { Changes } from '../../../../server/contract/wire'
import { checkInvariants } from '../../../support/invariants'
import { Story } from '../../../support/story'

/** One step that is not kept in the story. */
function step(value: Transcript, event: object): string {
  return apply(value, { session: 'ses_1', seq: value.seq + 1, at: 1, ...event } as Event).state
}

function changes(value: Transcript, more: Partial<Changes>): Changes {
  return { store: 's', session: value.session!, turns: [...value.turns.values()], rows: value.order.map((id) => value.rows.get(id)!), retracted: [], from: '', seq: value.seq, cursor: '1', ...more }
}

describe('an event that does not fit what is held is a gap and changes nothing', () => {
  const cases: [string, object][] = [
    ['growth at another length', { type: 'row.grew', row: 'r1', run: 't1.run', at0: 1, text: 'x' }],
    ['growth of a closed row', { type: 'row.grew', row: 'r0', run: 't1.run', at0: 2, text: 'x' }],
    ['an unknown row', { type: 'row.grew', row: 'nowhere', run: 't1.run', at0: 0, text: 'x' }],
    ['a row of an unknown turn', { type: 'row.opened', kind: 'answer', row: 'r9', n: 9, pos: '19', turn: 'nowhere', run: 't1.run' }],
    ['a row that is there already', { type: 'row.opened', kind: 'answer', row: 'r1', n: 9, pos: '19', turn: 't1', run: 't1.run' }],
    ['a second closing', { type: 'row.closed', row: 'r0', run: 't1.run', state: 'done', duration: 1 }],
    ['a cut behind the end', { type: 'row.cut', row: 'r1', run: 't1.run', keep: 9, why: 'echo' }],
    ['a tool patch of an answer', { type: 'row.changed', row: 'r1', run: 't1.run', tool: { title: 'x' } }],
    ['a question on an answer', { type: 'approval.raised', row: 'r1', run: 't1.run', approval: 'a9', request: { action: '', tool: '', choices: [] } }],
    ['a second question on a row that asks', { type: 'approval.raised', row: 'r3', run: 't1.run', approval: 'a9', request: { action: '', tool: '', choices: [] } }],
    ['the decision of an unknown question', { type: 'approval.decided', row: 'r2', run: 't1.run', approval: 'a9', choice: 'y', kind: 'once', by: 'person' }],
    ['a second start of a run', { type: 'run.started', run: 't1.run', turn: 't1', generation: 2, attempt: 2, cause: 'sent', agent: { kind: 'scripted', name: '' }, model: null }],
    ['the end of an unknown run', { type: 'run.settled', run: 'nowhere', turn: 't1', outcome: 'completed', timings: { total: 1 } }],
    ['a clarifying question on a tool', { type: 'clarify.raised', row: 'r2', run: 't1.run', clarify: 'c9', request: { question: '', choices: [], free: true } }],
    ['the answer of an unknown question', { type: 'clarify.answered', row: 'r2', run: 't1.run', clarify: 'c9', answer: 'x' }],
    ['the end of a steer that was not accepted', { type: 'steer.delivered', row: 'r2', run: 't1.run', steer: 's9', evidence: 'seen' }],
    ['a plan on a row that is none', { type: 'plan.replaced', row: 'r1', run: 't1.run', plan: [] }],
    ['a change of a message that does not wait', { type: 'queue.changed', item: 'q9', text: 'x' }],
    ['taking a message that does not wait', { type: 'queue.taken', item: 'q9', turn: 't9' }],
    ['joining messages of which one does not wait', { type: 'queue.combined', items: ['q1', 'q9'], text: 'x' }],
    ['a message that waits already', { type: 'queue.added', item: 'q1', text: 'x', by: 'person' }],
    ['a run that reopens a live row', { type: 'run.started', run: 'r', turn: 't1', generation: 2, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: '' }, model: null, reopens: ['r1'] }],
    ['a run that reopens the prompt', { type: 'run.started', run: 'r', turn: 't1', generation: 2, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: '' }, model: null, reopens: ['t1.ask'] }],
    ['a type of a newer server', { type: 'row.painted', row: 'r1' }],
    ['another session', { type: 'session.changed', session: 'ses_2', title: 'x' }],
    ['an event further on', { type: 'session.changed', title: 'x', seq: 99 }],
  ]
  test.each(cases)('%s', (_, event) => {
    const { value } = new Story().ask('t1', 'Hi').answer('r0', 'ab').close('r0').answer('r1', 'abc').tool('r2').tool('r3').raise('r3', 'a1').queue('q1', 'Then this')
    const before = structuredClone(value)
    expect(step(value, event)).toBe('gap')
    expect(value).toEqual(before)
  })

  test('the first event of a session must be its creation', () => {
    expect(step(emptyTranscript(), { type: 'session.changed', title: 'x' })).toBe('gap')
    expect(() => fold(emptyTranscript(), new Story().ask('t1', 'x').events.slice(1))).toThrow(FoldGap)
  })

  test('nothing follows a deletion', () => {
    const { value } = new Story().ask('t1', 'Hi').settle().say({ type: 'session.deleted' })
    expect(value).toMatchObject({ session: null, deleted: true, order: [], from: '' })
    expect(step(value, { type: 'session.changed', title: 'x' })).toBe('gap')
    expect(step(value, { ...new Story().events[0]!, seq: value.seq + 1 })).toBe('gap')
  })
})

describe('rows', () => {
  test('a closing merges what the tool gave, and keys without a value leave what was there', () => {
    const { value } = new Story().ask('t1', 'Hi').tool('r1', { target: 'a.ts', args: { path: 'a.ts' } }).close('r1', { state: 'failed', tool: { result: 'no such file', exit: 1, target: undefined } as object })
    const row = value.rows.get('r1')!
    expect(row).toMatchObject({ state: 'failed', duration: 500, tool: { call: 'r1.call', target: 'a.ts', args: { path: 'a.ts' }, result: 'no such file', exit: 1 } })
    expect(JSON.parse(JSON.stringify(row))).toEqual(row)
  })

  test('a cut shortens a closed row and leaves its state', () => {
    const { value } = new Story().ask('t1', 'Hi').answer('r1', 'Hello, hello').close('r1').say({ type: 'row.cut', row: 'r1', run: 't1.run', keep: 5, why: 'echo' })
    expect(value.rows.get('r1')).toMatchObject({ text: 'Hello', state: 'done', seq: value.seq })
  })

  test('an answered question that did not reach its agent is retired, and asked again on the same row', () => {
    const story = new Story().ask('t1', 'Hi').tool('r1').raise('r1', 'a1').decide('r1', 'a1').say({ type: 'approval.retired', approval: 'a1', row: 'r1', run: 't1.run', why: 'withdrawn' }).raise('r1', 'a2')
    expect(story.value.rows.get('r1')).toMatchObject({ approval: { id: 'a2', state: 'open', row: 'r1', run: 't1.run', raisedAt: story.value.seq * 1000 } })
  })

  test('rows that come between others stand where their position says', () => {
    const story = new Story().ask('t1', 'Hi').answer('r1', 'a').answer('r2', 'b')
    const { pos } = story.value.rows.get('r1')!
    story.say({ type: 'row.opened', kind: 'answer', row: 'between', n: 9, pos: `${pos}V`, turn: 't1', run: 't1.run', text: 'x' })
    expect(story.value.order).toEqual(['t1.ask', 'r1', 'between', 'r2'])
  })
})

describe('questions for words and secrets', () => {
  test('stand on their row with what was asked, and then with how they ended', () => {
    const story = new Story().ask('t1', 'Hi').clarify('r1', 'c1').secret('r2', 's1')
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'live', text: '', clarify: { id: 'c1', state: 'open', question: 'Which one?', choices: ['left', 'right'], free: true, row: 'r1', run: 't1.run', raisedAt: 5000 } })
    story.reply('r1', 'c1', 'left').close('r1').give('r2', 's1', false).close('r2', { state: 'denied' })
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'done', clarify: { state: 'answered', answer: 'left', answeredAt: 8000 } })
    expect(story.value.rows.get('r2')).toMatchObject({ state: 'denied', secret: { state: 'answered', given: false } })
  })

  test('are answered once; an answer that did not arrive is retired, and asked anew on the same row', () => {
    const story = new Story().ask('t1', 'Hi').clarify('r1', 'c1').reply('r1', 'c1', 'left')
    expect(step(story.value, { type: 'clarify.answered', row: 'r1', run: 't1.run', clarify: 'c1', answer: 'right' })).toBe('gap')
    story.say({ type: 'clarify.retired', clarify: 'c1', row: 'r1', run: 't1.run', why: 'withdrawn' })
    expect(step(story.value, { type: 'clarify.retired', row: 'r1', run: 't1.run', clarify: 'c1', why: 'expired' })).toBe('gap')
    story.say({ type: 'clarify.raised', clarify: 'c2', row: 'r1', run: 't1.run', request: { question: 'Again?', choices: [], free: true } })
    expect(story.value.rows.get('r1')).toMatchObject({ clarify: { id: 'c2', state: 'open', question: 'Again?' } })
    expect(story.value.rows.get('r1')).not.toHaveProperty('clarify.answer')
    story.say({ type: 'clarify.retired', clarify: 'c2', row: 'r1', run: 't1.run', why: 'expired' })
    expect(step(story.value, { type: 'secret.raised', row: 'r1', run: 't1.run', secret: 's9', request: { kind: 'sudo', prompt: '' } })).toBe('gap')
  })
})

describe('a word into a run', () => {
  test('is accepted and ends once, as delivered or as given back', () => {
    const story = new Story().ask('t1', 'Hi').steer('r1', 's1', 'faster').steer('r2', 's2', 'slower')
    expect(story.value.rows.get('r1')).toMatchObject({ kind: 'steer', text: 'faster', state: 'live', steer: { id: 's1', state: 'accepted' } })
    story.delivered('r1', 's1', 'inferred').returned('r2', 's2', 'queue', 'q1')
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'done', steer: { id: 's1', state: 'delivered', evidence: 'inferred' } })
    expect(story.value.rows.get('r2')).toMatchObject({ state: 'cancelled', steer: { id: 's2', state: 'returned', to: 'queue', item: 'q1' } })
    expect(step(story.value, { type: 'steer.returned', row: 'r1', run: 't1.run', steer: 's1', to: 'draft' })).toBe('gap')
  })
})

describe('what waits', () => {
  const order = (story: Story): string[] => story.value.queue.items.map(({ id, text, send }) => `${id}:${text}${send ? '!' : ''}`)

  test('stands in the order in which it will be sent, and is changed, moved, joined and removed', () => {
    const story = new Story().queue('q1', 'a').queue('q2', 'b').queue('q3', 'c', { before: 'q1' })
    expect(order(story)).toEqual(['q3:c', 'q1:a', 'q2:b'])
    story.say({ type: 'queue.changed', item: 'q1', text: 'A' }).say({ type: 'queue.moved', item: 'q2', before: 'q3' })
    expect(order(story)).toEqual(['q2:b', 'q3:c', 'q1:A'])
    story.say({ type: 'queue.moved', item: 'q2' })
    expect(order(story)).toEqual(['q3:c', 'q1:A', 'q2:b'])
    story.say({ type: 'queue.combined', items: ['q2', 'q3'], text: 'b and c' })
    expect(order(story)).toEqual(['q1:A', 'q2:b and c'])
    story.say({ type: 'queue.removed', items: ['q1'] })
    expect(order(story)).toEqual(['q2:b and c'])
    expect(story.value.queue).toMatchObject({ seq: story.value.seq, items: [{ by: 'person', addedAt: 3000 }] })
  })

  test('goes at once when it is to be sent now, wherever it stands, and also when it was joined with others', () => {
    const story = new Story().queue('q1', 'a').queue('q2', 'b').say({ type: 'queue.moved', item: 'q1', before: 'q1', send: true })
    expect(order(story)).toEqual(['q1:a!', 'q2:b'])
    story.say({ type: 'queue.combined', items: ['q2', 'q1'], text: 'ba' })
    expect(order(story)).toEqual(['q2:ba!'])
    expect(nextQueued(story.value.queue, { state: 'settled', outcome: 'failed' })!.id).toBe('q2')
  })

  test('before something that is gone means at the end', () => {
    expect(order(new Story().queue('q1', 'a').queue('q2', 'b', { before: 'gone' }))).toEqual(['q1:a', 'q2:b'])
  })

  test('leaves when it is taken, and an older event brings nothing back', () => {
    const story = new Story().queue('q1', 'a').queue('q2', 'b').say({ type: 'queue.taken', item: 'q1', turn: 't1' }).ask('t1', 'a')
    expect(order(story)).toEqual(['q2:b'])
    for (const event of story.events) expect(apply(story.value, event).state).toBe('old')
    expect(order(story)).toEqual(['q2:b'])
  })

  test('an object that was given out stays as it is', () => {
    const story = new Story().queue('q1', 'a')
    const { queue } = story.value
    story.queue('q2', 'b')
    expect(queue.items).toHaveLength(1)
    expect(story.value.queue).not.toBe(queue)
  })

  test('is paused after any end but completed, and never before the first', () => {
    const { queue } = new Story().queue('q1', 'a').value
    const next = (last: Parameters<typeof nextQueued>[1]) => nextQueued(queue, last)?.id ?? null
    expect([next(undefined), next({ state: 'settled', outcome: 'completed' })]).toEqual(['q1', 'q1'])
    expect((['failed', 'cancelled', 'interrupted'] as const).map((outcome) => next({ state: 'settled', outcome }))).toEqual([null, null, null])
    expect(nextQueued({ items: [], seq: 0 }, undefined)).toBeNull()
  })
})

describe('a run that takes up after a restart', () => {
  test('opens rows of its turn again: they are live and its own, with their text, and close anew', () => {
    const story = new Story().ask('t1', 'Hi').answer('r1', 'Hel').tool('r2').close('r1').close('r2', { state: 'unknown' }).settle({ outcome: 'interrupted' }).run('t1.again', 'reattached', ['r1', 'r2'])
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'live', run: 't1.again', text: 'Hel' })
    expect(story.value.rows.get('r1')).not.toHaveProperty('duration')
    story.grow('r1', 'lo').close('r1').close('r2', { tool: { result: 'ok' } }).settle()
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'done', text: 'Hello', run: 't1.again' })
    expect(story.value.rows.get('r2')).toMatchObject({ state: 'done', tool: { result: 'ok' } })
    expect(checkInvariants(story.value)).toEqual([])
  })

  test('has words again that had been given back to the draft, and none that were used or wait in the queue', () => {
    const story = new Story().ask('t1', 'Hi').steer('r1', 's1', 'kept').steer('r2', 's2', 'used').steer('r3', 's3', 'queued')
    story.returned('r1', 's1', 'draft').delivered('r2', 's2').returned('r3', 's3', 'queue', 'q1').settle({ outcome: 'interrupted' })
    for (const row of ['r2', 'r3']) {
      expect(step(fold(story.value, []), { type: 'run.started', run: 'r', turn: 't1', generation: 2, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: '' }, model: null, reopens: [row] })).toBe('gap')
    }
    story.run('t1.again', 'reattached', ['r1'])
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'live', run: 't1.again' })
    expect(story.value.rows.get('r1')).toHaveProperty('steer', { id: 's1', state: 'accepted' })
    story.delivered('r1', 's1').settle()
    expect(story.value.rows.get('r1')).toMatchObject({ state: 'done', steer: { state: 'delivered' } })
    expect(checkInvariants(story.value)).toEqual([])
  })

  test('opens nothing of another turn', () => {
    const story = new Story().ask('t1', 'Hi').answer('r1', 'a').close('r1').settle().ask('t2', 'Ho').settle({ outcome: 'interrupted' })
    const before = structuredClone(story.value)
    expect(step(story.value, { type: 'run.started', run: 'r', turn: 't2', generation: 3, attempt: 2, cause: 'reattached', agent: { kind: 'scripted', name: '' }, model: null, reopens: ['r1'] })).toBe('gap')
    expect(story.value).toEqual(before)
  })

  test('keeps what the agent calls the run', () => {
    const story = new Story().ask('t1', 'Hi').say({ type: 'run.bound', run: 't1.run', turn: 't1', foreign: 'their run', counters: { input: 7 } })
    expect(story.value.turns.get('t1')!.runs[0]!.bound).toEqual({ foreign: 'their run', counters: { input: 7 } })
    story.settle()
    expect(step(story.value, { type: 'run.bound', run: 't1.run', turn: 't1', foreign: 'late' })).toBe('gap')
  })
})

test('an effort stays with the chat until it is given back, whatever else changes with it', () => {
  const story = new Story().say({ type: 'session.changed', effort: 'high', approvals: 'all' })
  expect(story.value.session).toMatchObject({ effort: 'high', approvals: 'all' })
  story.say({ type: 'session.changed', title: 'x', titleBy: 'person' }).say({ type: 'session.changed', approvals: 'ask' })
  expect(story.value.session).toMatchObject({ effort: 'high', title: 'x' })
  story.say({ type: 'session.changed', effort: null, model: { provider: 'p', id: 'm' } })
  expect(story.value.session).not.toHaveProperty('effort')
  expect(story.value.session).not.toHaveProperty('approvals')
})

test('the head says what is allowed by itself and what the agent calls its session, and neither longer than it holds', () => {
  const agent = { kind: 'scripted' as const, name: 'S' }
  const story = new Story().say({ type: 'session.changed', approvals: 'all' }).say({ type: 'agent.bound', agent, foreign: 'theirs', why: 'first' })
  expect(story.value.session).toMatchObject({ approvals: 'all', foreign: 'theirs' })
  story.say({ type: 'agent.bound', agent, why: 'resumed' })
  expect(story.value.session).toHaveProperty('foreign', 'theirs')
  story.say({ type: 'session.changed', approvals: 'ask' }).say({ type: 'agent.bound', agent, why: 'changed' })
  expect(story.value.session).not.toHaveProperty('approvals')
  expect(story.value.session).not.toHaveProperty('foreign')
})

test('a chat gets newer by what is said and by how it ends, not by names, flags or re-attaching', () => {
  const story = new Story().ask('t1', 'Hi')
  const { lastAt } = story.value.session!
  expect(lastAt).toBe(story.value.seq * 1000)
  story.say({ type: 'session.changed', title: 'New', titleBy: 'person', pinned: true }).settle({ outcome: 'interrupted' })
  const settledAt = story.value.session!.lastAt
  expect(settledAt).toBe(story.value.seq * 1000)
  story.run('t1.again', 'reattached')
  expect(story.value.session).toMatchObject({ lastAt: settledAt, title: 'New', pinned: true, count: 1 })
})

describe('merging', () => {
  test('takes a queue that is newer, replaces it by a window, and leaves it where the answer has none', () => {
    const story = new Story().queue('q1', 'a')
    const held = fold(story.value, [])
    story.queue('q2', 'b')
    expect(merge(held, changes(story.value, { session: held.session!, turns: [], rows: [] }), 'after')).toMatchObject({ state: 'applied', touched: { queue: false } })
    expect(held.queue.items).toHaveLength(1)
    const late = fold(story.value, [])
    story.say({ type: 'session.changed', title: 'x' })
    expect(merge(held, changes(story.value, { queue: story.value.queue }), 'after')).toMatchObject({ touched: { queue: true } })
    expect(held.queue).toEqual(story.value.queue)
    story.say({ type: 'session.changed', title: 'y' })
    expect(merge(held, changes(story.value, { queue: { items: [], seq: 2 } }), 'after')).toMatchObject({ touched: { queue: false } })
    expect(held.queue.items).toHaveLength(2)
    expect(merge(late, changes(story.value, {}), 'window')).toMatchObject({ touched: { queue: true } })
    expect(late.queue.items).toEqual([])
  })

  test('an older window that brings a newer queue lets the events pass that it has already', () => {
    const { story, part: held } = part()
    story.queue('q1', 'a').say({ type: 'queue.removed', items: ['q1'] }).queue('q2', 'b')
    const older = changes(story.value, { rows: ['t1.ask', 'r1'].map((id) => story.value.rows.get(id)!), turns: [story.value.turns.get('t1')!], from: '', queue: story.value.queue })
    expect(merge(held, older, 'older').state).toBe('applied')
    for (const event of story.events.slice(held.seq)) expect(apply(held, event).state).toBe('applied')
    expect(held.queue).toEqual(story.value.queue)
  })

  function part(): { story: Story; part: Transcript } {
    const story = new Story().ask('t1', 'One').answer('r1', 'first').close('r1').settle().ask('t2', 'Two').answer('r2', 'second')
    const held = emptyTranscript()
    const rows = ['t2.ask', 'r2'].map((id) => story.value.rows.get(id)!)
    merge(held, changes(story.value, { rows, turns: [story.value.turns.get('t2')!], from: rows[0]!.pos }), 'window')
    return { story, part: held }
  }

  test('an older window is taken although newer text has come since, and refused when it is older than something that was skipped', () => {
    const { story, part: held } = part()
    const older = changes(story.value, { rows: ['t1.ask', 'r1'].map((id) => story.value.rows.get(id)!), turns: [story.value.turns.get('t1')!], from: '' })
    const skipping = fold(held, [])
    expect(step(held, { type: 'row.grew', row: 'r2', run: 't2.run', at0: 6, text: '!' })).toBe('applied')
    expect(merge(held, older, 'older').state).toBe('applied')
    expect(held.order).toEqual(['t1.ask', 'r1', 't2.ask', 'r2'])
    expect(held.rows.get('r2')!.text).toBe('second!')
    expect(held.from).toBe('')

    expect(step(skipping, { type: 'rows.retracted', rows: ['r1'], turns: [], why: 'edit', counted: 1 })).toBe('applied')
    expect(merge(skipping, older, 'older').state).toBe('stale')
    expect(skipping.order).toEqual(['t2.ask', 'r2'])
  })

  test('a run of a turn that the part does not hold is a gap: its rows will stand in the part', () => {
    const { part: held } = part()
    expect(step(held, { type: 'run.started', run: 'r', turn: 't1', generation: 3, attempt: 2, cause: 'retried', agent: { kind: 'scripted', name: '' }, model: null })).toBe('gap')
    expect(step(held, { type: 'run.settled', run: 't1.run', turn: 't1', outcome: 'completed', timings: { total: 1 } })).toBe('applied')
    expect(held.missed).toBe(held.seq)
  })

  test('a row that opens before the part is no part of it, and is remembered as skipped', () => {
    const { part: held } = part()
    const order = [...held.order]
    expect(step(held, { type: 'row.opened', kind: 'answer', row: 'early', n: 9, pos: '10V', turn: 't1', run: 't1.run', text: 'x' })).toBe('applied')
    expect(held.order).toEqual(order)
    expect(held.missed).toBe(held.seq)
  })

  test('a part that caught up does not take an older window from before', () => {
    const { story, part: held } = part()
    const older = changes(story.value, { from: '' })
    merge(held, changes(story.value, { rows: [], turns: [], from: held.from, seq: held.seq + 3 }), 'after')
    expect(merge(held, older, 'older').state).toBe('stale')
  })

  test('an answer for a part that has grown backwards meanwhile is stale; one for a longer part leaves out what lies before', () => {
    const { story, part: held } = part()
    const seq = story.value.seq + 1
    const longer = changes(story.value, { seq, from: '', rows: story.value.order.map((id) => ({ ...story.value.rows.get(id)!, seq })) })
    expect(merge(held, longer, 'after').state).toBe('applied')
    expect(held.order).toEqual(['t2.ask', 'r2'])
    held.from = ''
    expect(merge(held, changes(story.value, { seq: seq + 1, from: story.value.rows.get('t2.ask')!.pos }), 'after').state).toBe('stale')
  })

  test('an answer that is older than what came live changes nothing; a window older than the state is stale', () => {
    const story = new Story().ask('t1', 'One').answer('r1', 'a')
    const old = changes(fold(story.value, []), {})
    story.grow('r1', 'b')
    const before = structuredClone(story.value)
    expect(merge(story.value, old, 'after').state).toBe('old')
    expect(merge(story.value, old, 'window').state).toBe('stale')
    expect(story.value).toEqual(before)
  })

  test('a window replaces what was held and names what left and what differs; a reset is taken whatever its age', () => {
    const story = new Story().ask('t1', 'One').answer('r1', 'a').close('r1').settle().ask('t2', 'Two').answer('r2', 'b')
    const held = fold(story.value, [])
    story.grow('r2', 'c')
    const window = changes(story.value, { rows: ['t2.ask', 'r2'].map((id) => story.value.rows.get(id)!), turns: [story.value.turns.get('t2')!], from: story.value.rows.get('t2.ask')!.pos })
    const merged = merge(held, window, 'window')
    expect(merged).toEqual({ state: 'applied', touched: { ...untouched(), rows: new Set(['r2']), removed: new Set(['t1.ask', 'r1', 't1']) } })
    expect(merge(held, { ...window, seq: 1, reset: true }, 'after')).toMatchObject({ state: 'applied', touched: { head: true, rows: new Set(['t2.ask', 'r2']) } })
    expect(held.seq).toBe(1)
  })
})

test('touched joins: a row that is drawn anew needs no growth, what left is not drawn, what came back has not left', () => {
  const into = { ...untouched(), grew: new Map([['a', 'x'], ['b', 'y']]), removed: new Set(['c']) }
  addTouched(into, { ...untouched(), rows: new Set(['b', 'c']), grew: new Map([['a', 'z']]) })
  expect(into).toEqual({ ...untouched(), rows: new Set(['b', 'c']), grew: new Map([['a', 'xz']]) })
  addTouched(into, { ...untouched(), head: true, removed: new Set(['a', 'b']) })
  expect(into).toEqual({ ...untouched(), head: true, rows: new Set(['c']), removed: new Set(['a', 'b']) })
})
