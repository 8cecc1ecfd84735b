import { expect, test } from 'vitest'
import { makeMarkdown } from '../../../../../src/transcript/markdown/stream'
import { words } from './words'

const MIXED = `The **quick** brown fox, \`jumps\` over the [lazy](https://x.test) dog.

- one item with **bold** text
- another item
  - nested \`code\`

\`\`\`js
${'const value = compute(1, 2) // comment\n'.repeat(12)}\`\`\`

| a | b |
|---|--:|
${'| one | 12 |\n'.repeat(8)}
`

/** Work of the first and of the last quarter of the deltas, in characters lexed: what a clock would measure without its noise. */
function quarters(text: string, deltas: number): { first: number; last: number; all: number } {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  const marks: number[] = []
  for (let i = 0; i < deltas; i++) {
    if (i % (deltas / 4) === 0) marks.push(markdown.work())
    markdown.push(text.slice(Math.floor((i * text.length) / deltas), Math.floor(((i + 1) * text.length) / deltas)))
  }
  return { first: marks[1]!, last: markdown.work() - marks[3]!, all: markdown.work() }
}

test('the last quarter of 20,000 deltas costs what the first did', { timeout: 60_000 }, () => {
  const { first, last } = quarters(MIXED.repeat(Math.ceil(200_000 / MIXED.length)).slice(0, 200_000), 20_000)
  expect(last / first).toBeLessThanOrEqual(1.5)
})

test('one endless code block costs its own length', () => {
  const text = `\`\`\`\n${'some line of code that is long enough\n'.repeat(3000)}`
  expect(quarters(text, 4000).all).toBeLessThan(text.length * 4)
})

test('text that can never be cut stays within a fixed multiple of its length', { timeout: 60_000 }, () => {
  for (const text of [`<!--\n\n${'word word\n\n'.repeat(3000)}`, `${'- item of an endless list\n\n'.repeat(1200)}`, 'word '.repeat(6000)]) {
    const half = quarters(text.slice(0, text.length / 2), 1000).all
    expect(quarters(text, 2000).all / half).toBeLessThan(3.2)
  }
})
