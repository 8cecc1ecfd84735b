import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedArguments } from '../../../../server/contract/arguments'
import { originalCursor, originalId, originalStream, translate, type OriginalFrame, type OriginalStream } from '../../../../server/contract/original'
import type { FullSession } from '../../../../server/contract/routes/shapes'
import { arbitraryHistory } from '../../../support/history'
import { Story } from '../../../support/story'

const SESSION = { session_id: 'ses_1' } as FullSession

function streamOf(story: Story, run: string): OriginalStream {
  return originalStream(story.session, run, story.events.find((event) => event.type === 'run.started' && event.run === run)!.seq)
}

/** All frames of a run: name and payload. */
function told(story: Story, run = 't1.run'): OriginalFrame[] {
  const stream = streamOf(story, run)
  return story.events.flatMap((event) => translate(stream, event, SESSION))
}

const names = (frames: OriginalFrame[]): string[] => frames.map(({ name }) => name)

describe('the original’s chat stream', () => {
  test('a whole turn: thinking, words, a tool, a question, an answer, done', () => {
    const story = new Story().ask('t1', 'x').think('r1', 'h').grow('r1', 'm').close('r1').answer('r2', 'I ').grow('r2', 'look.').close('r2')
      .tool('r3', { name: 'shell', target: 'make', args: { command: 'make', a: 1, b: 2, c: 3, d: 4 } }).raise('r3', 'a1', { risk: 'high', reason: 'It runs a program' }).decide('r3', 'a1')
      .close('r3', { state: 'failed', duration: 1500, tool: { result: 'no rule' } }).answer('r4', 'No.').close('r4').settle({ usage: { input: 7, output: 2 } })
    const frames = told(story)
    expect(frames.map(({ name, data }) => [name, data.text ?? data.preview ?? data.command ?? ''])).toEqual([
      ['reasoning', 'h'], ['reasoning', 'm'], ['token', 'I '], ['token', 'look.'], ['interim_assistant', 'I look.'], ['tool', 'make'], ['approval', 'make'], ['tool_complete', 'no rule'], ['token', 'No.'],
      ['done', ''], ['stream_end', ''],
    ])
    const data = (name: string) => frames.find((frame) => frame.name === name)!.data
    expect(data('tool')).toEqual({ event_type: 'tool.started', name: 'shell', preview: 'make', tid: 'r3.call', args: { command: 'make', a: 1, b: 2, c: 3 } })
    expect(data('tool_complete')).toMatchObject({ event_type: 'tool.completed', name: 'shell', tid: 'r3.call', duration: 1.5, is_error: true })
    expect(data('approval')).toMatchObject({ approval_id: 'a1', run_id: 't1.run', description: 'It runs a program', choices: ['once', 'deny'], allow_permanent: false, risk_level: 'high', pending_count: 1 })
    expect(data('done')).toEqual({ session_id: 'ses_1', session: SESSION, usage: { input_tokens: 7, output_tokens: 2, duration_seconds: 4, ttft_ms: 250, used_model: 'm-1' } })
    expect(frames.filter(({ ends }) => ends).map(({ name, k }) => [name, k])).toEqual([['stream_end', 15]])
  })

  test('a stop: nothing is told after it but the cancel, which closes', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'ab').stop().grow('r1', 'late').close('r1').settle({ outcome: 'cancelled' })
    const frames = told(story)
    expect(names(frames)).toEqual(['token', 'cancel'])
    expect(frames[1]).toMatchObject({ ends: true, data: { type: 'cancelled', status: 'cancelled', session_id: 'ses_1', session: SESSION } })
  })

  test('a failure: apperror with the original’s type, our code and the provider’s own words, and no stream_end', () => {
    const story = new Story().ask('t1', 'x').settle({ outcome: 'failed', problem: { code: 'provider_unreachable', words: 'w'.repeat(2000) } })
    const [frame, ...more] = told(story)
    expect(more).toEqual([])
    expect(frame).toMatchObject({ name: 'apperror', ends: true, data: { type: 'error', code: 'provider_unreachable', session_id: 'ses_1' } })
    expect(frame!.data.details).toHaveLength(1200)
  })

  test('a run that reached its limit of steps says so in done', () => {
    expect(told(new Story().ask('t1', 'x').settle({ reason: 'limit' }))[0]!.data).toMatchObject({ terminal_state: 'tool_limit_reached', terminal_reason: 'limit' })
  })

  test('titles given during the run are told, and other runs of the session are not', () => {
    const story = new Story().say({ type: 'session.changed', title: 'Before' }).ask('t1', 'x').say({ type: 'session.changed', title: 'During', titleBy: 'agent' }).settle()
    story.ask('t2', 'y').answer('r2', 'z')
    expect(told(story).filter(({ name }) => name === 'title').map(({ data }) => data)).toEqual([{ session_id: 'ses_1', title: 'During' }])
    expect(names(told(story))).toEqual(['title', 'done', 'stream_end'])
    expect(names(told(story, 't2.run'))).toEqual(['token'])
  })

  test('a second question counts both, a question asked again counts what is open', () => {
    const story = new Story().ask('t1', 'x').tool('r1').tool('r2').raise('r1', 'a1').raise('r2', 'a2').decide('r1', 'a1').question('r3').raise('r3', 'a3')
    expect(told(story).filter(({ name }) => name === 'approval').map(({ data }) => data.pending_count)).toEqual([1, 2, 2])
  })

  test('a changed call is completed as it was changed', () => {
    const story = new Story().ask('t1', 'x').tool('r1', { args: {} }).say({ type: 'row.changed', row: 'r1', run: 't1.run', tool: { args: { path: 'late.ts' }, output: 'tail' } }).close('r1')
    expect(told(story).find(({ name }) => name === 'tool_complete')!.data).toMatchObject({ args: { path: 'late.ts' }, preview: 'tail', is_error: false })
  })
})

test('ids rise strictly over any history, one terminal frame ends a run, and any cursor resumes to the same frames', () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`translator: seed ${seed}`)
  fc.assert(
    fc.property(arbitraryHistory(), fc.nat(), ({ session, appends }, pick) => {
      const events = appends.flatMap((append) => append.events)
      for (const started of events) {
        if (started.type !== 'run.started') continue
        const tell = () => {
          const stream = originalStream(session, started.run, started.seq)
          return events.flatMap((event) => translate(stream, event).map((frame) => ({ ...frame, seq: event.seq, id: originalId(stream, event.seq, frame.k) })))
        }
        const frames = tell()
        const numbers = frames.map(({ id }) => Number(id.slice(id.lastIndexOf(':') + 1)))
        numbers.forEach((n, i) => expect(n).toBeGreaterThan(i === 0 ? 0 : numbers[i - 1]!))
        expect(frames.filter(({ ends }) => ends).length).toBeLessThanOrEqual(1)
        if (frames.some(({ ends }) => ends)) expect(frames[frames.length - 1]!.ends).toBe(true)
        const last = frames[pick % Math.max(1, frames.length)]
        if (!last) continue
        const at = originalCursor(last.id, { run: started.run, startedSeq: started.seq }, events.length)!
        const rest = tell().filter(({ seq, k }) => seq > at.seq || (seq === at.seq && k > at.k))
        expect(rest).toEqual(frames.slice(frames.findIndex(({ id }) => id === last.id) + 1))
      }
    }),
    { numRuns: 500, seed },
  )
})

test('a cursor that is foreign, too high or no cursor means everything from the start', () => {
  const run = { run: 'run_1', startedSeq: 10 }
  expect(originalCursor(originalId(run, 12, 3), run, 20)).toEqual({ seq: 12, k: 3 })
  expect(originalCursor('51', run, 20)).toEqual({ seq: 12, k: 3 })
  for (const cursor of [undefined, '', 'x', 'run_2:51', 'run_1:5', 'run_1:-1', 'run_1:1e3', originalId(run, 21, 0)]) expect(originalCursor(cursor, run, 20)).toBeNull()
})

test('arguments are bounded in number and length, content longer than the rest, and never cut within a character', () => {
  const args = { content: 'c'.repeat(5000), note: `${'n'.repeat(118)}👩${'n'.repeat(9)}`, list: [1, 2], big: Array.from({ length: 99 }, (_, i) => i), fifth: 1 }
  const bounded = boundedArguments(args, 4)
  expect(Object.keys(bounded)).toEqual(['content', 'note', 'list', 'big'])
  expect(bounded).toMatchObject({ note: `${'n'.repeat(118)}…`, list: [1, 2] })
  expect((bounded.content as string).length).toBe(4000)
  expect((bounded.big as string).length).toBe(120)
  expect([boundedArguments(null, 4), boundedArguments('x', 4), boundedArguments([1], 4)]).toEqual([{}, {}, {}])
})
