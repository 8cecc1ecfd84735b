import { describe, expect, test } from 'vitest'
import { emptyTranscript } from '../../../../server/contract/fold'
import { attentionOf, entryOf, LINE_LENGTH, MAX_TICKS, sameEntry } from '../../../../server/contract/listing'
import { firstSentence } from '../../../../server/contract/sentence'
import { Story } from '../../../support/story'

const entry = (story: Story) => entryOf(story.value)!

describe('the list entry', () => {
  test('is there from creation on, and gone after deletion', () => {
    expect(entryOf(emptyTranscript())).toBeNull()
    const story = new Story()
    expect(entry(story)).toMatchObject({ id: 'ses_1', title: 'A chat', state: 'idle', questions: 0, count: 0, ticks: [] })
    expect(entry(story)).not.toHaveProperty('line')
    expect(entryOf(story.say({ type: 'session.deleted' }).value)).toBeNull()
  })

  test('follows a run: works on a step, asks, stops, rests', () => {
    const story = new Story().ask('t1', 'Hi')
    expect(entry(story)).toMatchObject({ state: 'working', run: 't1.run', since: 3000 })
    story.think('r1', 'hm')
    expect(entry(story).line).toEqual({ kind: 'step', text: '', verb: 'think' })
    story.close('r1').tool('r2', { verb: 'run', target: 'make  all', name: 'shell' })
    expect(entry(story).line).toEqual({ kind: 'step', text: 'make all', verb: 'run' })
    story.raise('r2', 'a1', { action: 'Run a command', command: 'make  all' })
    expect(entry(story)).toMatchObject({ state: 'asking', questions: 1, line: { kind: 'question', text: 'Run a command: make all' } })
    expect(entry(story).line).not.toHaveProperty('asks')
    story.decide('r2', 'a1')
    expect(entry(story)).toMatchObject({ state: 'working', questions: 0 })
    story.stop()
    expect(entry(story)).toMatchObject({ state: 'stopping', run: 't1.run' })
    story.close('r2').settle({ outcome: 'cancelled' })
    expect(entry(story)).toMatchObject({ state: 'idle', outcome: 'cancelled' })
    expect(entry(story)).not.toHaveProperty('run')
  })

  test('does not change by growth, so that streaming moves no list', () => {
    const story = new Story().ask('t1', 'Hi').answer('r1', 'Hello')
    const before = entry(story)
    story.grow('r1', '. And a great deal more. '.repeat(50))
    expect(entry(story)).toEqual(before)
    expect(sameEntry({ ...before, rev: 1 }, { ...entry(story), rev: 2 })).toBe(true)
    story.close('r1').settle()
    expect(sameEntry(before, entry(story))).toBe(false)
  })

  test('says how the last turn went: its answer, or the provider’s own words', () => {
    const story = new Story().ask('t1', 'Hi').answer('r1', 'Well. First').close('r1').tool('r2').close('r2').answer('r3', '## Done\n\nThe **file** is there. More.').close('r3').settle()
    expect(entry(story)).toMatchObject({ outcome: 'completed', line: { kind: 'answer', text: 'Done' } })
    story.ask('t2', 'Again').settle({ outcome: 'failed', problem: { code: 'auth_mismatch', words: 'Incorrect API key provided: sk-…' } })
    expect(entry(story)).toMatchObject({ outcome: 'failed', problem: 'auth_mismatch', line: { kind: 'problem', text: 'Incorrect API key provided: sk-…' } })
    story.run('t2.again', 'retried')
    expect(entry(story)).not.toHaveProperty('problem')
    expect(entry(story)).not.toHaveProperty('outcome')
  })

  test('has a tick per step of the last turn only, with its state and how long it took', () => {
    const story = new Story().ask('t1', 'Hi').tool('old').close('old').settle().ask('t2', 'More')
    story.think('r1').close('r1', { duration: 900 }).answer('r2', 'So').close('r2').notice('r3', 'x').tool('r4').close('r4', { state: 'failed', duration: 20 }).tool('r5').raise('r5', 'a1').tool('r6')
    expect(entry(story).ticks.map(({ kind, state, ms }) => [kind, state, ms])).toEqual([['thought', 'done', 900], ['tool', 'failed', 20], ['tool', 'need', undefined], ['tool', 'live', undefined]])
  })

  test('merges the oldest ticks of a long turn into one of their summed duration', () => {
    const story = new Story().ask('t1', 'Hi')
    for (let i = 0; i < 40; i++) story.tool(`r${i}`).close(`r${i}`, { duration: 10, state: i === 2 ? 'failed' : 'done' })
    const { ticks } = entry(story)
    expect(ticks).toHaveLength(MAX_TICKS)
    expect(ticks[0]).toEqual({ kind: 'tool', state: 'failed', ms: 90, at: story.value.rows.get('r0')!.at })
    expect(ticks.reduce((sum, { ms }) => sum + ms!, 0)).toBe(400)
    expect(ticks[1]!.at).toBe(story.value.rows.get('r9')!.at)
  })
})

describe('what asks for a person', () => {
  test('questions of every kind count, and the line says what is asked', () => {
    const story = new Story().ask('t1', 'Hi').clarify('r1', 'c1', { question: '**Left** or   `right`?' })
    expect(entry(story)).toMatchObject({ state: 'asking', questions: 1, line: { kind: 'question', asks: 'clarify', text: 'Left or right?' } })
    story.secret('r2', 's1')
    expect(entry(story)).toMatchObject({ questions: 2, line: { text: 'Left or right?' } })
    story.reply('r1', 'c1', 'left').close('r1')
    expect(entry(story)).toMatchObject({ questions: 1, line: { kind: 'question', asks: 'secret', text: 'The key of the shop: SHOP_KEY' } })
    expect(entry(story).ticks.map(({ state }) => state)).toEqual(['done', 'need'])
    story.give('r2', 's1', false).close('r2', { state: 'denied' })
    expect(entry(story)).toMatchObject({ state: 'working', questions: 0 })
  })

  test('a question that cannot be answered yet is not the one in the line', () => {
    const story = new Story().ask('t1', 'Hi').tool('r1').tool('r2').raise('r1', 'a1', { action: 'First', command: 'x', waits: true }).raise('r2', 'a2', { action: 'Second', command: 'y' })
    expect(entry(story)).toMatchObject({ questions: 2, line: { text: 'Second: y' } })
  })

  test('a word on the way and a plan are no step of the agent', () => {
    const story = new Story().ask('t1', 'Hi').tool('r1', { target: 'a.ts' }).steer('r2', 's1', 'faster').plan('r3', [{ text: 'One', state: 'active' }])
    expect(entry(story)).toMatchObject({ line: { kind: 'step', text: 'a.ts' }, ticks: [{ kind: 'tool' }] })
  })

  test('the queue counts, and an empty one is not said', () => {
    const story = new Story().ask('t1', 'Hi').queue('q1', 'Then this').queue('q2', 'And that')
    expect(entry(story).queued).toBe(2)
    story.say({ type: 'queue.removed', items: ['q1', 'q2'] })
    expect(entry(story)).not.toHaveProperty('queued')
  })

  test('an end says at which event it was, until the next attempt begins', () => {
    const story = new Story().ask('t1', 'Hi')
    expect(entry(story)).not.toHaveProperty('settled')
    story.settle({ outcome: 'failed', problem: { code: 'rate_limit' } })
    const settled = story.events.length
    expect(entry(story).settled).toBe(settled)
    story.say({ type: 'session.changed', title: 'Another' }).queue('q1', 'x')
    expect(entry(story).settled).toBe(settled)
    story.run('t1.again', 'retried')
    expect(entry(story)).not.toHaveProperty('settled')
  })

  test('a question goes before a failure, a failure before an answer, and what was looked at asks for nobody', () => {
    expect(attentionOf({ questions: 1, outcome: 'failed', settled: 9, read: 1 })).toBe('question')
    expect(attentionOf({ questions: 0, outcome: 'failed', settled: 9 })).toBe('failed')
    expect(attentionOf({ questions: 0, outcome: 'interrupted', settled: 9, read: 8 })).toBe('failed')
    expect(attentionOf({ questions: 0, outcome: 'completed', settled: 9, read: 8 })).toBe('unread')
    expect(attentionOf({ questions: 0, outcome: 'failed', settled: 9, read: 9 })).toBeNull()
    expect(attentionOf({ questions: 0 })).toBeNull()
  })

  test('a read mark that moved makes another entry', () => {
    const fields = entry(new Story().ask('t1', 'Hi').settle())
    expect(sameEntry({ ...fields, rev: 1, read: 3 }, { ...fields, rev: 2, read: 3 })).toBe(true)
    expect(sameEntry(fields, { ...fields, read: 3 })).toBe(false)
  })
})

describe('the first sentence', () => {
  const cases: [string, string][] = [
    ['Hello there. And more.', 'Hello there.'],
    ['Version 1.2 is out! Yes', 'Version 1.2 is out!'],
    ['\n\n# A head\ntext', 'A head'],
    ['- **Yes**, `make` works\n- no', 'Yes, make works'],
    ['> 1. See [the page](https://x.example/a.b). Then go', 'See the page.'],
    ['```sh\nrm -rf x.\n```\nThat was it', 'That was it'],
    ['---\n\nAfter a rule', 'After a rule'],
    ['雪が降る。寒い。', '雪が降る。'],
    ['snake_case stays', 'snake_case stays'],
    ['```\nonly code', ''],
    ['  \n\n', ''],
  ]
  test.each(cases)('of %j', (text, sentence) => expect(firstSentence(text, 160)).toBe(sentence))

  test('is cut to its length and ends with a whole character', () => {
    const cut = firstSentence(`${'x'.repeat(LINE_LENGTH - 2)}👩 and on`, LINE_LENGTH)
    expect(cut).toBe(`${'x'.repeat(LINE_LENGTH - 2)}…`)
    expect(firstSentence('word '.repeat(100), LINE_LENGTH).length).toBeLessThanOrEqual(LINE_LENGTH)
  })
})
