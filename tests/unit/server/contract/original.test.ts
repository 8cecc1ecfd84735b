import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedArguments } from '../../../../server/contract/arguments'
import { originalCursor, originalId, originalStream, translate, type OriginalFrame, type OriginalStream } from '../../../../server/contract/original'
import { ReasoningBuffer } from '../../../../server/contract/reasoning-buffer'
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
  return story.events.flatMap((event, i) => translate(stream, event, SESSION, story.events[i + 1]))
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

  test('of several permissions the oldest is told with their number, and the next when its turn comes', () => {
    const story = new Story().ask('t1', 'x').tool('r1').tool('r2').raise('r1', 'a1').raise('r2', 'a2').decide('r1', 'a1').question('r3').raise('r3', 'a3')
    const asked = (): unknown[] => told(story).filter(({ name }) => name === 'approval').map(({ data }) => [data.approval_id, data.pending_count])
    expect(asked()).toEqual([['a1', 1], ['a1', 2], ['a2', 1], ['a2', 2]])
    // The end of a run takes its questions away, one after the other, and tells none.
    story.say({ type: 'approval.retired', approval: 'a2', row: 'r2', run: 't1.run', why: 'run_ended' }).say({ type: 'approval.retired', approval: 'a3', row: 'r3', run: 't1.run', why: 'run_ended' })
    expect(asked()).toHaveLength(4)
  })

  test('an answer to another than the head changes no card', () => {
    const story = new Story().ask('t1', 'x').tool('r1').tool('r2').raise('r1', 'a1').raise('r2', 'a2').decide('r2', 'a2')
    expect(told(story).filter(({ name }) => name === 'approval')).toHaveLength(2)
  })

  test('a permission that is only asked next is not told before the one that can be given', () => {
    const story = new Story().ask('t1', 'x').tool('r1').tool('r2').raise('r1', 'a1').raise('r2', 'a2', { waits: true }).say({ type: 'approval.retired', approval: 'a1', row: 'r1', run: 't1.run', why: 'expired' })
    expect(told(story).filter(({ name }) => name === 'approval').map(({ data }) => [data.approval_id, data.pending_count])).toEqual([['a1', 1], ['a1', 2]])
  })

  test('a permission that is given by itself in the same breath is not told', () => {
    const story = new Story().ask('t1', 'x').tool('r1').raise('r1', 'a1').say({ type: 'approval.decided', approval: 'a1', row: 'r1', run: 't1.run', choice: 'y', kind: 'once', by: 'auto' })
    expect(names(told(story))).toEqual(['tool'])
  })

  test('a clarifying question is told as asked, its tool and a secret are not', () => {
    const story = new Story().ask('t1', 'x').answer('r0', 'Well.').close('r0').tool('r1', { name: 'clarify' }).clarify('r2', 'c1', { question: 'Which?', choices: ['a'], free: false, deadline: 3_600_000 })
    story.reply('r2', 'c1', 'a').close('r2').close('r1').secret('r3', 's1').give('r3', 's1').close('r3')
    const frames = told(story)
    expect(names(frames)).toEqual(['token', 'interim_assistant', 'clarify'])
    expect(frames[2]!.data).toMatchObject({ clarify_id: 'c1', question: 'Which?', choices_offered: ['a'], session_id: 'ses_1', kind: 'clarify', expires_at: 3600, requested_at: 8, timeout_seconds: 3592, pending_count: 1 })
  })

  test('every plan is told whole, the empty one too', () => {
    const story = new Story().ask('t1', 'x').plan('r1', [{ text: 'Look', state: 'active' }]).replan('r1', [])
    expect(told(story)).toMatchObject([
      { name: 'todo_state', data: { session_id: 'ses_1', stream_id: 't1.run', ts: 4, version: 1, todos: [{ id: '1', content: 'Look', status: 'in_progress' }] } }, { name: 'todo_state', data: { ts: 5, todos: [] } },
    ])
  })

  test('the original’s warnings are told, other notices are not', () => {
    const story = new Story().ask('t1', 'x').notice('r1', 'agent_paused').notice('r2', 'fallback', 'Now it is another model.')
    expect(told(story).map(({ name, data }) => [name, data])).toEqual([['warning', { type: 'fallback', message: 'Now it is another model.' }]])
  })

  test('words that a thought only repeated are marked when they are told as progress', () => {
    const story = new Story().ask('t1', 'x').think('r1', 'Hm. Found X.').say({ type: 'row.cut', row: 'r1', run: 't1.run', keep: 3, why: 'echo' }).close('r1').answer('r2', 'Found X.').close('r2').tool('r3').close('r3')
      .answer('r4', 'And Y.').close('r4').tool('r5')
    const frames = told(story)
    expect(frames.filter(({ name }) => name === 'interim_assistant').map(({ data }) => data)).toEqual([{ text: 'Found X.', already_streamed: true, reasoning_echo: true }, { text: 'And Y.', already_streamed: true }])
    expect(frames.filter(({ name }) => name === 'reasoning')).toMatchObject([{ data: { text: 'Hm. Found X.' } }, { data: { text: '' }, takeBack: 9 }])
  })

  test('a word on the way and a plan do not end an answer, a correction shortens what is told as progress', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'One two').steer('r2', 's1', 'faster').plan('r3', []).grow('r1', ' three').say({ type: 'row.cut', row: 'r1', run: 't1.run', keep: 3, why: 'agent_corrected' }).close('r1').tool('r4')
    expect(told(story).find(({ name }) => name === 'interim_assistant')!.data.text).toBe('One')
  })

  test('a run that took up after a restart goes on in the rows that were open', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'Hel').tool('r2', { name: 'shell' })
    const held = [...story.value.rows.values()]
    story.close('r1').close('r2', { state: 'unknown' }).settle({ outcome: 'interrupted' })
    story.run('t1.again', 'reattached', ['r1', 'r2']).grow('r1', 'lo').close('r2').close('r1').settle()
    const started = story.events.findLast(({ type }) => type === 'run.started')!
    const stream = originalStream(story.session, 't1.again', started.seq, held)
    expect(story.events.flatMap((event) => translate(stream, event)).map(({ name, data }) => [name, data.text ?? data.name])).toEqual([['token', 'lo'], ['tool_complete', 'shell'], ['done', undefined], ['stream_end', undefined]])
  })

  test('a title that comes while it stops is not told', () => {
    const story = new Story().ask('t1', 'x').stop().say({ type: 'session.changed', title: 'Late', titleBy: 'agent' }).settle({ outcome: 'cancelled' })
    expect(names(told(story))).toEqual(['cancel'])
  })

  test('case 117: words, a tool, words: each is told once and in order, an end without a beginning is told as an end', () => {
    const story = new Story().ask('t1', 'x').answer('r1', 'A').close('r1').tool('r2', { call: 'c1' }).close('r2').answer('r3', 'B')
    expect(told(story).map(({ name, data }) => [name, data.tid ?? data.text])).toEqual([['token', 'A'], ['interim_assistant', 'A'], ['tool', 'c1'], ['tool_complete', 'c1'], ['token', 'B']])
    expect(story.value.order.map((id) => story.value.rows.get(id)!).map(({ kind, state, text }) => [kind, state, text])).toEqual([['user', 'done', 'x'], ['answer', 'done', 'A'], ['tool', 'done', ''], ['answer', 'live', 'B']])
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

test('case 116: a run that ended with its server is told as interrupted once, behind all that was told; nothing follows an end', () => {
  const story = new Story().ask('t1', 'x').answer('r1', 'ab').close('r1').settle({ outcome: 'interrupted', problem: { code: 'server_restarted' } })
  const stream = streamOf(story, 't1.run')
  const frames = story.events.flatMap((event) => translate(stream, event, SESSION))
  expect(frames.map(({ name, data }) => [name, data.type])).toEqual([['token', undefined], ['apperror', 'interrupted']])
  story.run('t1.again', 'reattached').answer('r2', 'c').close('r2').settle()
  expect(story.events.flatMap((event) => translate(stream, event, SESSION))).toEqual([])
})

describe('the ten times a second of reasoning', () => {
  test('case 106: the first words at once, those of the next 100 ms together, and none is lost', () => {
    const buffer = new ReasoningBuffer()
    expect(buffer.add('a', 'r:1', 1000)).toEqual({ text: 'a', id: 'r:1' })
    expect(buffer.due(1000)).toBeNull()
    expect([buffer.add('b', 'r:2', 1030), buffer.add('c', 'r:3', 1060)]).toEqual([null, null])
    expect(buffer.due(1060)).toBe(40)
    expect(buffer.take(1100)).toEqual({ text: 'bc', id: 'r:3' })
    expect(buffer.add('d', 'r:4', 1150)).toBeNull()
    // A boundary does not wait.
    expect(buffer.take(1151)).toEqual({ text: 'd', id: 'r:4' })
    expect(buffer.take(1152)).toBeNull()
    expect(buffer.add('e', 'r:5', 1260)).toEqual({ text: 'e', id: 'r:5' })
  })

  test('case 104: an echo of what was told already cuts nothing from what waits now, and what comes later is whole', () => {
    const buffer = new ReasoningBuffer()
    buffer.add('Found X.', 'r:1', 0)
    buffer.takeBack('Found X.'.length)
    expect(buffer.add('Now ', 'r:2', 10)).toBeNull()
    expect(buffer.add('Y.', 'r:3', 20)).toBeNull()
    expect(buffer.take(30)).toEqual({ text: 'Now Y.', id: 'r:3' })
  })

  test('of an echo that waits nothing is told, of the thought before it all', () => {
    const buffer = new ReasoningBuffer()
    buffer.add('Hm.', 'r:1', 0)
    buffer.add(' So. Found', 'r:2', 10)
    buffer.add(' X.', 'r:3', 20)
    buffer.takeBack(' Found X.'.length)
    expect(buffer.take(30)).toEqual({ text: ' So.', id: 'r:3' })
    buffer.add('Found X.', 'r:4', 40)
    buffer.takeBack('Found X.'.length)
    expect([buffer.due(50), buffer.take(50)]).toEqual([null, null])
  })

  test('tells every word in order, at most once in 100 ms but at boundaries, for any stream of deltas', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(80), fc.string({ minLength: 1, maxLength: 3 }), fc.boolean()), { maxLength: 60 }), (deltas) => {
        const buffer = new ReasoningBuffer()
        let now = 0
        let told = ''
        let last = -Infinity
        const tell = (words: { text: string } | null, boundary: boolean): void => {
          if (!words) return
          told += words.text
          if (!boundary) expect(now - last).toBeGreaterThanOrEqual(100)
          last = now
        }
        deltas.forEach(([after, text, boundary], i) => {
          for (let due = buffer.due(now); due !== null && due <= after; due = buffer.due(now)) {
            now += due
            after -= due
            tell(buffer.take(now), false)
          }
          now += after
          tell(buffer.add(text, String(i), now), false)
          if (boundary) tell(buffer.take(now), true)
        })
        tell(buffer.take(now), true)
        expect(told).toBe(deltas.map(([, text]) => text).join(''))
      }),
    )
  })
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
