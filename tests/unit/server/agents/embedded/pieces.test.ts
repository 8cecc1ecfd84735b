import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeCalls } from '../../../../../server/agents/embedded/calls'
import { type Message, wellFormed } from '../../../../../server/agents/embedded/messages'
import { makeFrames } from '../../../../../server/agents/embedded/sse'
import { makeThinkSplit, type Told } from '../../../../../server/agents/embedded/think'
import { unifiedDiff } from '../../../../../server/agents/embedded/tools/diff'
import { matches } from '../../../../../server/agents/embedded/tools/search'
import { makeTail } from '../../../../../server/agents/embedded/tools/tail'
import { environment } from '../../../../../server/agents/embedded/tools/child'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
console.log(`seed ${seed}`)
const check = <T extends [unknown, ...unknown[]]>(property: fc.IProperty<T>, numRuns = 500): void => fc.assert(property, { seed, numRuns })

/** Cuts at the given places. */
function cut<T extends { length: number; slice(from: number, to?: number): T }>(whole: T, places: number[]): T[] {
  const at = [...new Set(places.map((p) => p % (whole.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, i) => whole.slice(from, at[i] ?? whole.length))
}
const places = fc.array(fc.nat(100_000), { maxLength: 20 })

describe('frames of an event stream', () => {
  it('are the same wherever the bytes are cut and however lines end', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((s) => s.replace(/[\r\n]/g, ''))
    check(
      fc.property(fc.array(fc.record({ event: fc.constantFrom('', 'error', 'x'), data: line, comment: fc.boolean() }), { maxLength: 8 }), fc.constantFrom('\n', '\r\n', '\r'), places, (events, end, at) => {
        const text = events.map((e) => `${e.comment ? `: hi${end}` : ''}${e.event ? `event: ${e.event}${end}` : ''}data: ${e.data}${end}${end}`).join('')
        const frames = makeFrames()
        const found = [...cut(Buffer.from(text), at).flatMap((piece) => frames.push(piece)), ...frames.end()]
        expect(found).toEqual(events.map(({ event, data }) => ({ event, data })))
      }),
    )
  })

  it('keep memory bounded when no line ends', () => {
    const frames = makeFrames(1000)
    for (let i = 0; i < 50; i++) expect(frames.push(Buffer.from(`data: ${'x'.repeat(100)}`))).toEqual([])
    expect(frames.push(Buffer.from('\n\ndata: ok\n\n'))).toEqual([{ event: '', data: 'ok' }])
  })
})

describe('thinking tags', () => {
  const told = (pieces: string[]): { reasoning: string; text: string } => {
    const split = makeThinkSplit()
    const all: Told[] = [...pieces.flatMap((piece) => split.push(piece)), ...split.end()]
    return { reasoning: all.filter((t) => t.kind === 'reasoning').map((t) => t.delta).join(''), text: all.filter((t) => t.kind === 'text').map((t) => t.delta).join('') }
  }
  it('are told the same wherever the text is cut', () => {
    const bit = fc.constantFrom('<think>', '</think>', '<thi', 'nk>', '<', '>', 'a', ' ', '\n', '<thinking>', '</thinking>', '```')
    check(fc.property(fc.array(bit, { maxLength: 12 }).map((b) => b.join('')), places, (text, at) => void expect(told(cut(text, at))).toEqual(told([text]))))
  })
  it.each([
    ['<think>plan</think>answer', 'plan', 'answer'],
    ['\n <think>plan</think>\n\nanswer', 'plan', 'answer'],
    ['<thinking>a</think>b</thinking>c', 'a</think>b', 'c'],
    ['text <think>x</think>', '', 'text <think>x</think>'],
    ['<think>a</think>b<think>c</think>', 'a', 'b<think>c</think>'],
    ['<think>never closed', 'never closed', ''],
    ['<thi', '', '<thi'],
    ['  lead', '', '  lead'],
    ['<thinker>x', '', '<thinker>x'],
  ])('%j', (text, reasoning, answer) => expect(told([text])).toEqual({ reasoning, text: answer }))
})

describe('tool calls from fragments', () => {
  it('with ids or indexes of their own are whole in whatever order the fragments come', () => {
    const args = fc.jsonValue().map((v) => JSON.stringify({ v }))
    check(
      fc.property(fc.array(args, { minLength: 1, maxLength: 4 }), fc.constantFrom('index', 'id', 'both'), fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 9 })), { maxLength: 60 }), (all, by, order) => {
        const calls = makeCalls()
        const rest = [...all]
        const name = (i: number) => ({ ...(by !== 'id' && { index: i }), ...(by !== 'index' && { id: `id${i}` }) })
        all.forEach((_, i) => calls.add({ ...name(i), id: `id${i}`, name: `tool${i}`, args: '' }))
        const give = (i: number, n: number): void => {
          const piece = rest[i]!.slice(0, n)
          rest[i] = rest[i]!.slice(n)
          if (piece !== '') calls.add({ ...name(i), args: piece })
        }
        for (const [i, n] of order) if (i < all.length) give(i, n)
        all.forEach((_, i) => give(i, Infinity))
        expect(calls.all((n) => `m${n}`)).toEqual(all.map((text, i) => ({ id: `id${i}`, name: `tool${i}`, args: text, broken: undefined })))
      }),
    )
  })
  it('without ids run only what cannot be anything else: arguments are never mixed', () => {
    const piece = fc.constantFrom('{"a":', '1}', '{"b":', '2}', '', '{}')
    const fragment = fc.record({ index: fc.option(fc.constant(0), { nil: undefined }), id: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }), name: fc.option(fc.constantFrom('p', 'q'), { nil: undefined }), args: piece })
    check(
      fc.property(fc.array(fragment, { maxLength: 8 }), (fragments) => {
        const calls = makeCalls()
        for (const f of fragments) calls.add(f)
        const whole = calls.all((n) => `m${n}`)
        for (const call of whole.filter((c) => !c.broken)) expect(Object.keys(JSON.parse(call.args) as object).length).toBeLessThan(2)
        expect(new Set(whole.map((c) => c.id)).size).toBe(whole.length)
      }),
    )
  })
  it.each([
    ['nothing at all is an empty object', [{ id: 'x', name: 'p' }], [{ args: '{}', broken: undefined }]],
    ['no name is nameless', [{ id: 'x', args: '{}' }], [{ broken: 'nameless' }]],
    ['a list is no object', [{ id: 'x', name: 'p', args: '[1]' }], [{ broken: 'unparsable' }]],
    ['a name that comes later is taken', [{ index: 0, args: '{' }, { index: 0, name: 'p', args: '}' }], [{ name: 'p', args: '{}', broken: undefined }]],
    ['whole calls one after the other with one index and no id are two', [{ index: 0, name: 'p', args: '{}' }, { index: 0, name: 'q', args: '{"a":1}' }], [{ name: 'p' }, { name: 'q', args: '{"a":1}' }]],
  ])('%s', (_, fragments, expected) => {
    const calls = makeCalls()
    for (const f of fragments) calls.add(f)
    expect(calls.all((n) => `m${n}`)).toMatchObject(expected)
  })
})

describe('a history for strict providers', () => {
  it('is well formed whatever was kept, and making it so again changes nothing', () => {
    const id = fc.constantFrom('a', 'b', 'c')
    const message: fc.Arbitrary<Message> = fc.oneof(
      fc.record({ role: fc.constant('user' as const), text: fc.constantFrom('', 'u') }),
      fc.record({ role: fc.constant('assistant' as const), text: fc.constantFrom('', 'x'), calls: fc.option(fc.uniqueArray(fc.record({ id, name: fc.constant('t'), args: fc.constant('{}') }), { selector: (c) => c.id, maxLength: 3 }), { nil: undefined }) }),
      fc.record({ role: fc.constant('tool' as const), call: id, name: fc.constant('t'), result: fc.constant('r') }),
    )
    check(
      fc.property(fc.array(message, { maxLength: 12 }), (history) => {
        const made = wellFormed(history)
        if (made.length > 0) expect(made[0]!.role).toBe('user')
        const owed: string[] = []
        made.forEach((m, i) => {
          if (m.role === 'tool') return expect(m.call).toBe(owed.shift())
          expect(owed).toEqual([])
          expect(made[i - 1]?.role).not.toBe(m.role)
          if (m.role === 'user') return
          expect(m.calls?.length).not.toBe(0)
          expect(m.text !== '' || m.calls !== undefined).toBe(true)
          owed.push(...(m.calls ?? []).map((c) => c.id))
        })
        expect(owed).toEqual([])
        expect(wellFormed(made)).toEqual(made)
      }),
      2000,
    )
  })

  it('case 90: keeps what a person said, between two answers, before another message and at the end', () => {
    const user = (text: string): Message => ({ role: 'user', text })
    const said = (text: string): Message => ({ role: 'assistant', text })
    expect(wellFormed([user('a'), said('b'), user('c'), said('d')])).toEqual([user('a'), said('b'), user('c'), said('d')])
    expect(wellFormed([user('a'), said('b'), user('broke off'), user('and now')])).toEqual([user('a'), said('b'), user('broke off\n\nand now')])
    expect(wellFormed([user('a'), said('b'), user('last')]).at(-1)).toEqual(user('last'))
  })

  it('joins a half answer that broke off with what its retry called', () => {
    const call = { id: 'c', name: 'read', args: '{}' }
    expect(wellFormed([{ role: 'user', text: 'a' }, { role: 'assistant', text: 'Half' }, { role: 'assistant', text: '', calls: [call] }])).toMatchObject([
      { role: 'user' }, { role: 'assistant', text: 'Half', calls: [call] }, { role: 'tool', call: 'c', failed: true },
    ])
  })

  it('never gives a call what came before it', () => {
    const tool = (result: string): Message => ({ role: 'tool', call: 'c', name: 'read', result })
    const history: Message[] = [{ role: 'user', text: 'hi' }, tool('of another'), { role: 'assistant', text: '', calls: [{ id: 'c', name: 'read', args: '{}' }] }, tool('its own'), tool('late')]
    expect(wellFormed(history).at(-1)).toEqual(tool('its own'))
    expect(wellFormed(history.slice(0, 3)).at(-1)).toMatchObject({ role: 'tool', call: 'c', failed: true })
  })
})

describe('unified differences', () => {
  it('applied to the old text give the new one', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).chain((lines) => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`))
    check(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff('f', before, after)
        expect(before === after ? before : apply(before, diff)).toBe(after)
      }),
      2000,
    )
  })
  it('show only what changed, with three lines around', () => {
    const lines = Array.from({ length: 40 }, (_, i) => `l${i}\n`)
    const after = lines.map((l, i) => (i === 10 ? 'new\n' : l)).join('')
    expect(unifiedDiff('f', lines.join(''), after)).toBe('--- a/f\n+++ b/f\n@@ -8,7 +8,7 @@\n l7\n l8\n l9\n-l10\n+new\n l11\n l12\n l13\n')
  })
  it('of very long texts are made quickly', () => {
    const a = Array.from({ length: 20_000 }, (_, i) => `a${i}`).join('\n')
    const b = Array.from({ length: 20_000 }, (_, i) => `b${i}`).join('\n')
    expect(apply(a, unifiedDiff('f', a, b))).toBe(b)
  })
})

/** A small `patch`: reads hunks by their counts. */
function apply(before: string, diff: string): string {
  const source = before === '' ? [] : before.replace(/\n$/, '').split('\n')
  const out: string[] = []
  let at = 0
  let ends = before === '' || before.endsWith('\n')
  const lines = diff.split('\n').slice(2)
  for (let i = 0; i < lines.length; i++) {
    const head = /^@@ -(\d+),(\d+) \+\d+,(\d+) @@$/.exec(lines[i]!)
    if (!head) continue
    const start = Number(head[1]) - (head[2] === '0' ? 0 : 1)
    while (at < start) out.push(source[at++]!)
    let olds = Number(head[2])
    let news = Number(head[3])
    while (olds > 0 || news > 0) {
      const line = lines[++i]!
      const text = line.slice(1)
      if (line[0] !== '+') {
        if (source[at] !== text) throw new Error(`line ${at} is ${source[at]}, not ${text}`)
        at++
        olds--
      }
      if (line[0] !== '-') {
        out.push(text)
        news--
      }
      const marked = lines[i + 1]?.startsWith('\\ No newline') === true
      if (marked) i++
      if (line[0] !== '-') ends = !marked
    }
  }
  if (at < source.length) ends = before.endsWith('\n')
  while (at < source.length) out.push(source[at++]!)
  return out.length === 0 ? '' : out.join('\n') + (ends ? '\n' : '')
}

describe('small parts', () => {
  it.each([
    ['*.ts', 'src/a.ts', true], ['*.ts', 'a.tsx', false], ['src/*', 'src/deep/a.ts', true], ['a?c', 'abc', true], ['', '', true], ['*a*b*', 'xxaxxbxx', true], ['*a*b*', 'ba', false],
  ])('the name pattern %j on %j is %j', (pattern, path, expected) => expect(matches(pattern, path)).toBe(expected))

  it('a hostile name pattern costs little', () => {
    expect(matches(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false)
  })

  it('the tail keeps beginning and end in bounded memory', () => {
    check(
      fc.property(fc.array(fc.string({ maxLength: 30 }), { maxLength: 40 }), (pieces) => {
        const tail = makeTail(40)
        for (const piece of pieces) tail.push(piece)
        const all = pieces.join('')
        const both = tail.both()
        if (all.length <= 40) expect(both).toBe(all)
        else expect(both.startsWith(all.slice(0, 20)) && both.endsWith(all.slice(-20))).toBe(true)
        const { text, cut: short } = tail.tail(15)
        expect(all.endsWith(text)).toBe(true)
        expect(short).toBe(all.length > 15)
      }),
    )
  })

  it('of the environment only what no key can be reaches a command', () => {
    expect(environment({ PATH: '/bin', HOME: '/h', LANG: 'C', LC_ALL: 'C', OPENAI_API_KEY: 'k', HERMES_HOME: 'x', PATH_TOKEN: 'k', LD_PRELOAD: 'l', NODE_OPTIONS: 'o', TALARIA_X: 'y', TZ: undefined }, 'run_1')).toEqual({
      TALARIA_RUN: 'run_1', PATH: '/bin', HOME: '/h', LANG: 'C', LC_ALL: 'C', TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0',
    })
  })
})
