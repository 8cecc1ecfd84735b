import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeMarkdown } from '../../../../../src/transcript/markdown/stream'
import { answer, cutAt } from './grammar'
import { words } from './words'

function draw(parts: readonly string[]): string {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  for (const part of parts) markdown.push(part)
  markdown.finish()
  return into.innerHTML
}

const RUNS = Number(process.env.MARKDOWN_RUNS ?? 4000)

test(`text that arrived in pieces cut anywhere is drawn as the same text at once, over ${RUNS} generated answers`, { timeout: 120_000 }, () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`seed ${seed}`)
  fc.assert(
    fc.property(answer, fc.array(fc.nat(), { minLength: 1, maxLength: 10 }), fc.boolean(), (text, places, everywhere) => {
      const parts = everywhere && text.length < 80 ? [...Array(text.length).keys()].map((i) => text[i]!) : cutAt(text, places)
      expect(draw(parts)).toBe(draw([text]))
    }),
    { numRuns: RUNS, seed },
  )
})
