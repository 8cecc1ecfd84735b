// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeEventReader, type StreamEvent } from '../../../../src/sync/event-reader'

/** Feeds text as bytes, cut where `cuts` say. */
function read(text: string, cuts: number[] = []): StreamEvent[] {
  const bytes = new TextEncoder().encode(text)
  const reader = makeEventReader()
  const events: StreamEvent[] = []
  let from = 0
  for (const cut of [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    events.push(...reader(bytes.subarray(from, cut)))
    from = cut
  }
  return events
}

test('an event has its name, id and data; comments and empty events are none', () => {
  expect(read(': hello\n\nid: 7\nevent: change\ndata: {"a":1}\n\nevent: beat\n\ndata:x\ndata: y\n\n')).toEqual([
    { name: 'change', id: '7', data: '{"a":1}' },
    { name: 'message', id: null, data: 'x\ny' },
  ])
})

test('what is not closed when the stream ends is no event', () => {
  expect(read('data: whole\n\ndata: half\n')).toEqual([{ name: 'message', id: null, data: 'whole' }])
})

test('line ends of every kind, cut anywhere, say the same', () => {
  const field = fc.tuple(fc.constantFrom('data', 'event', 'id', ''), fc.constantFrom('', '雪', '👩‍👩‍👧 x', 'a: b', ' '), fc.constantFrom('\n', '\r\n', '\r'))
  const stream = fc.array(fc.oneof(field, fc.constantFrom<[string, string, string]>(['-', '', '\n'], ['-', '', '\r\n'], ['-', '', '\r'])), { maxLength: 30 })
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 12 }), (fields, cuts) => {
      const line = ([key, value, end]: [string, string, string], ends: string): string => (key === '-' ? ends : `${key}: ${value}${ends || end}`)
      const mixed = fields.map((one) => line(one, one[2])).join('')
      // A CR directly before an LF would be one line end, not two.
      fc.pre(!/\r\n/.test(fields.map((one) => (one[2] === '\r\n' ? line(one, '\n') : line(one, one[2]))).join('')))
      expect(read(mixed, cuts)).toEqual(read(fields.map((one) => line(one, '\n')).join('')))
    }),
    { numRuns: 2000 },
  )
})
