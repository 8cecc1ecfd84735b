import { expect, test } from 'vitest'
import { colour, COLOUR_LIMIT } from '../../../../src/worker/colours'

const textOf = (text: string, stretches: [number, string][], kind: string) => {
  let at = 0
  const found: string[] = []
  for (const [length, colour] of stretches) {
    if (colour === kind) found.push(text.slice(at, at + length))
    at += length
  }
  return found
}

test('stretches cover the text without gaps and tell keywords, strings, numbers and comments apart', () => {
  const text = 'const n = 42 // the <answer> & more\nconst s = `a${n}b`\n'
  const stretches = colour(text, 'js')!
  expect(stretches.reduce((sum, [length]) => sum + length, 0)).toBe(text.length)
  expect(textOf(text, stretches, 'k')).toContain('const')
  expect(textOf(text, stretches, 'n')).toEqual(['42'])
  expect(textOf(text, stretches, 'c')).toEqual(['// the <answer> & more'])
  expect(textOf(text, stretches, 's').join('')).toContain('`a')
})

test('a language inside another one keeps every character', () => {
  const text = '<style>a { color: red }</style>\n<script>let x = 1</script>\n'
  expect(colour(text, 'html')!.reduce((sum, [length]) => sum + length, 0)).toBe(text.length)
})

test('an unknown language and a text beyond the limit stay plain', () => {
  expect(colour('x', 'no-such-language')).toBeNull()
  expect(colour('x'.repeat(COLOUR_LIMIT + 1), 'js')).toBeNull()
})
