import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EchoIndex, folded, isSpace } from '../../../../server/contract/echo-index'
import { Passages } from '../../../../server/contract/echo-passages'
import { ReasoningEcho } from '../../../../server/contract/reasoning-echo'

const SPACE = /[\s\u0085\u001c-\u001f]/
const naiveFold = (text: string): string => [...text].filter((char) => !SPACE.test(char)).join('')

/** What the index must answer, made the slow way. */
class Naive {
  raw = ''
  append(chunk: string): void {
    this.raw += chunk
  }
  matchesTail(text: string): boolean {
    const wanted = naiveFold(text)
    return wanted !== '' && naiveFold(this.raw).endsWith(wanted)
  }
  cutTo(text: string): number | null {
    if (!this.matchesTail(text)) return null
    let left = naiveFold(text).length
    while (left > 0) {
      if (!SPACE.test(this.raw[this.raw.length - 1]!)) left--
      this.raw = this.raw.slice(0, -1)
    }
    while (this.raw && SPACE.test(this.raw[this.raw.length - 1]!)) this.raw = this.raw.slice(0, -1)
    return this.raw.length
  }
}

/** Few letters and much white space, so that tails do match; characters of two units and spaces of every kind. */
const LETTERS = ['a', 'b', 'A', '.', ' ', '  ', '\n', '\t', '\u0085', '\u001c', '\u001f', '\u3000', '\ufeff', '\u2028', '雪', '👩‍👩‍👧', 'é', 'e\u0301', '\u200b']
const text = (max: number): fc.Arbitrary<string> => fc.array(fc.constantFrom(...LETTERS), { maxLength: max }).map((parts) => parts.join(''))

describe('the echo index', () => {
  test('case 100: matches the end of the text whatever the white space, and never a blank', () => {
    const index = new EchoIndex()
    index.append('ab c')
    expect(['b c', 'abc', 'x', '  ', '', 'abcd', 'B c'].map((candidate) => index.matchesTail(candidate))).toEqual([true, true, false, false, false, false, false])
  })

  test('case 101: cuts to what stood before, without the white space between, and then describes that', () => {
    const index = new EchoIndex()
    index.append('think  Look ing')
    expect(index.cutTo('Looking')).toBe('think'.length)
    expect([index.matchesTail('think'), index.matchesTail('Looking'), index.length]).toEqual([true, false, 5])
    index.append(' on')
    expect(index.cutTo('k on')).toBe('thin'.length)
    expect(index.cutTo('thin')).toBe(0)
    expect(index.matchesTail('n')).toBe(false)
  })

  test('is emptied by a reset', () => {
    const index = new EchoIndex()
    index.append('some words')
    index.reset()
    expect([index.length, index.matchesTail('words'), index.cutTo('words')]).toEqual([0, false, null])
    index.append('w')
    expect(index.cutTo('w')).toBe(0)
  })

  test('case 102: answers as a naive matcher does, for any chunking, through any row of appends, cuts and questions', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ op: fc.constant('append' as const), text: text(12) }) },
      fc.record({ op: fc.constantFrom('ask' as const, 'cut' as const), text: text(5) }),
      // The end as it is, with other white space: what an echo is.
      fc.record({ op: fc.constant('echo' as const), text: text(5), units: fc.integer({ min: 1, max: 8 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 4 }), (steps, size) => {
        const index = new EchoIndex()
        const chunked = new EchoIndex()
        const naive = new Naive()
        for (const one of steps) {
          const { op } = one
          const words = op === 'echo' ? `${naiveFold(one.text) === '' ? one.text : ''}${naive.raw.slice(-one.units).replace(/ /g, '\n\n')}\t` : one.text
          if (op === 'append') {
            index.append(words)
            for (let i = 0; i < words.length; i += size) chunked.append(words.slice(i, i + size))
            naive.append(words)
          } else if (op === 'ask') {
            expect([index.matchesTail(words), chunked.matchesTail(words)]).toEqual([naive.matchesTail(words), naive.matchesTail(words)])
          } else {
            const kept = naive.cutTo(words)
            expect([index.cutTo(words), chunked.cutTo(words)]).toEqual([kept, kept])
          }
          expect([index.length, chunked.length]).toEqual([naive.raw.length, naive.raw.length])
        }
      }),
      { numRuns: 3000, verbose: 1 },
    )
  })

  test('takes for white space exactly what the definition names', () => {
    for (let unit = 0; unit < 0x10000; unit++) if (isSpace(unit) !== SPACE.test(String.fromCharCode(unit))) throw new Error(`U+${unit.toString(16)}`)
    expect(folded(' a\u0085\n b ')).toBe('ab')
  })

  test('case 103: 5000 blanks inside an echo hide nothing', () => {
    const index = new EchoIndex()
    index.append(`Let me see. Look${' '.repeat(5000)}ing at it.`)
    expect(index.cutTo('Looking at it.')).toBe('Let me see.'.length)
  })
})

describe('a passage that was said before', () => {
  test('is found anywhere, if long enough, for any chunking, as a naive search finds it', () => {
    fc.assert(
      fc.property(fc.array(text(40), { maxLength: 30 }), fc.nat(), fc.integer({ min: 60, max: 200 }), text(3), (chunks, from, length, tail) => {
        const said = chunks.join('')
        const passages = new Passages()
        for (const chunk of chunks) passages.append(chunk)
        const start = from % (said.length + 1)
        const wanted = said.slice(start, start + length) + tail
        expect(passages.holds(wanted)).toBe(naiveFold(wanted).length >= 80 && naiveFold(said).includes(naiveFold(wanted)))
      }),
      { numRuns: 2000, verbose: 1 },
    )
  })
})

test('a passage is found at every place of a text, if it has 80 units and not one less', () => {
  const said = Array.from({ length: 400 }, (_, i) => String.fromCharCode(0x4e00 + i)).join('')
  const passages = new Passages()
  passages.append(said.slice(0, 33))
  passages.append(said.slice(33))
  for (let at = 0; at + 80 <= said.length; at++) {
    if (!passages.holds(said.slice(at, at + 80)) || passages.holds(said.slice(at, at + 79)) || passages.holds(`${said.slice(at, at + 79)}x`)) throw new Error(`place ${at}`)
  }
})

describe('reasoning that only repeats what is said', () => {
  const SENTENCE = 'The build fails because the lock file names a version that the registry does not have any more, so it has to be made anew.'

  test('case 107: said, then thought, then told as a message: it stands once, as words', () => {
    const echo = new ReasoningEcho()
    echo.visible('Found X.')
    expect(echo.reasoning('Found X.')).toBe('')
    expect(echo.message('Found X.')).toEqual({ alreadySaid: true })
  })

  test('case 108: thought, then told as a message: nothing of the thought is left', () => {
    const echo = new ReasoningEcho()
    expect(echo.reasoning('Found ') + echo.reasoning('X.')).toBe('Found X.')
    expect(echo.message('Found X.')).toEqual({ alreadySaid: false, cut: { segment: 'current', keep: 0 } })
    expect(echo.message('Found X.')).toEqual({ alreadySaid: false })
  })

  test('the thought before an echo stays, and an echo in the segment before is found there', () => {
    const echo = new ReasoningEcho()
    echo.reasoning('I look at the log. \n Found X.')
    expect(echo.boundary()).toBe(true)
    expect(echo.boundary()).toBe(false)
    echo.reasoning('And now?')
    expect(echo.message('Found X.')).toEqual({ alreadySaid: false, cut: { segment: 'previous', keep: 'I look at the log.'.length } })
    expect(echo.message('now?')).toEqual({ alreadySaid: false, cut: { segment: 'current', keep: 'And'.length } })
  })

  test('of both segments the current one is cut', () => {
    const echo = new ReasoningEcho()
    echo.reasoning('Yes.')
    echo.boundary()
    echo.reasoning('So: yes. Yes.')
    expect(echo.message('Yes.').cut).toEqual({ segment: 'current', keep: 'So: yes.'.length })
    expect(echo.message('Yes.').cut).toEqual({ segment: 'previous', keep: 0 })
  })

  test('case 109: a long passage of the answer is no reasoning, some words of it are', () => {
    const echo = new ReasoningEcho()
    for (const word of SENTENCE.split(/(?<= )/)) echo.visible(word)
    expect(echo.reasoning(SENTENCE.slice(0, 100))).toBe('')
    expect(echo.reasoning(SENTENCE.slice(0, 20))).toBe(SENTENCE.slice(0, 20))
    expect(echo.reasoning(`No: ${SENTENCE.slice(0, 100)}`)).not.toBe('')
  })

  test('a thought that comes word by word keeps each, also one that the answer ends with', () => {
    const echo = new ReasoningEcho()
    echo.visible('I check the file')
    const words = 'Which one? The test names a file and the file is gone'.split(/(?= )/)
    expect(words.map((word) => echo.reasoning(word))).toEqual(words)
  })

  test('a whole repetition is dropped in the middle of a thought too', () => {
    const echo = new ReasoningEcho()
    echo.visible('Found X.')
    expect(echo.reasoning('Hm.')).toBe('Hm.')
    expect(echo.reasoning('Found X.')).toBe('')
    expect(echo.reasoning(' ')).toBe(' ')
  })

  test('case 105: twice the text with twice the messages costs about twice the work', () => {
    const work = (scale: number): number => {
      const echo = new ReasoningEcho()
      echo.reasoning(`Look${' '.repeat(50_000 * scale)}ing at it.`)
      for (let i = 0; i < 20 * scale; i++) {
        echo.message('Looking at it.')
        const progress = `Step ${i}: ${SENTENCE}`
        for (let at = 0; at < progress.length; at += 10) echo.reasoning(progress.slice(at, at + 10))
        echo.reasoning(`${' '.repeat(5000)}Look${' '.repeat(5000)}ing at ${i}.`)
        echo.message(`Looking at ${i}.`)
        echo.visible(`Looking at ${i}. ${SENTENCE}`)
        echo.reasoning(SENTENCE)
        echo.message(progress)
        echo.boundary()
      }
      return echo.work
    }
    const [one, two, four] = [work(1), work(2), work(4)] as [number, number, number]
    console.log(`echo: work x2 ${(two / one).toFixed(3)}, x4 ${(four / two).toFixed(3)}`)
    expect(two / one).toBeLessThan(2.5)
    expect(four / two).toBeLessThan(2.5)
  })
})
