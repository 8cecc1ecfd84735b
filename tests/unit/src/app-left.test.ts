import { createRoot } from 'solid-js'
import { expect, test } from 'vitest'
import { createLeft } from '../../../src/app-left'
import { makeDrafts } from '../../../src/composer/drafts'
import type { ComposerHandle } from '../../../src/composer/port'

const settle = () => new Promise((resolve) => setTimeout(resolve))

function left() {
  const kept = new Map<string, string>()
  const drafts = makeDrafts({
    shelf: { read: (id) => Promise.resolve(kept.get(id) ?? ''), write: (id, value) => Promise.resolve(void kept.set(id, value)) },
    quick: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
    now: () => 1,
    mintKey: () => 'key',
    later: (_, run) => (run(), () => undefined),
  })
  const taken: string[] = []
  const box = { take: (text: string) => taken.push(text) } as unknown as ComposerHandle
  return createRoot(() => ({ drafts, taken, ...createLeft({ parts: { drafts, later: () => () => undefined }, chat: () => 'open', box: () => box }) }))
}

test('words that are with the agent again leave the draft of a chat that is not open, unless something else stands there or they were sent from there', async () => {
  const it = left()
  for (const [chat, text] of [['alone', 'words'], ['more', 'words\n\nand more'], ['sent', 'words']] as const) it.drafts.note(chat, text)
  it.drafts.claim('sent', 'words', 'steer')
  for (const chat of ['alone', 'more', 'sent']) it.withdraw(chat, 'words')
  await settle()
  expect(['alone', 'more', 'sent'].map((chat) => it.drafts.peek(chat)!.text)).toEqual(['', 'words\n\nand more', 'words'])
})

test('of the open chat it is the box that decides', async () => {
  const it = left()
  it.drafts.note('open', 'words')
  it.withdraw('open', 'words')
  await settle()
  expect([it.taken, it.drafts.peek('open')!.text]).toEqual([['words'], 'words'])
})
