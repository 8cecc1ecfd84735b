import { expect, test } from 'vitest'
import { paint } from '../../../../src/transcript/highlights'

test('painting changes colours and not a character', () => {
  const code = document.createElement('code')
  code.textContent = 'let <a> = 1\n'
  paint(code, code.textContent, [[3, 'k'], [7, ' '], [1, 'n']])
  expect(code.textContent).toBe('let <a> = 1\n')
  expect([...code.children].map((span) => [span.className, span.textContent])).toEqual([['hl-k', 'let'], ['hl-n', '1']])
})
