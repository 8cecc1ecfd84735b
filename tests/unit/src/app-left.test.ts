import { createRoot } from 'solid-js'
import { expect, test } from 'vitest'
import { createLeft } from '../../../src/app-left'
import { makeDrafts } from '../../../src/composer/drafts'
import type { ComposerHandle } from '../../../src/composer/port'
import type { Sync } from '../../../src/sync/port'

const settle = () => new Promise((resolve) => setTimeout(resolve))

function left(kept = new Map<string, string>(), queued = 0) {
  const drafts = makeDrafts({
    shelf: { read: (id) => Promise.resolve(kept.get(id) ?? ''), write: (id, value) => Promise.resolve(void kept.set(id, value)) },
    quick: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
    now: () => 1,
    mintKey: () => 'key',
    later: (_, run) => (run(), () => undefined),
  })
  const taken: string[] = []
  const given: string[] = []
  const box = { take: (text: string) => taken.push(text), give: (text: string) => given.push(text) } as unknown as ComposerHandle
  const looks: (() => void)[] = []
  const later = (_: number, run: () => void) => {
    looks.push(run)
    return () => undefined
  }
  const sync = { list: () => ({ entries: new Map([['open', { queued }]]) }) } as unknown as Sync
  return createRoot(() => ({ drafts, taken, given, look: () => looks.forEach((run) => run()), ...createLeft({ parts: { drafts, later, sync }, chat: () => 'open', box: () => box }) }))
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

test('a change that was being written when the page went stands in the box once nothing waits any more; while something does, it is left to the card', async () => {
  const change = () => new Map([['change.open', JSON.stringify({ text: JSON.stringify({ id: 'q', was: 'one', text: 'one and a half' }), at: 1 })]])
  const it = left(change())
  await settle()
  it.look()
  await settle()
  expect(it.given).toEqual(['one and a half'])
  const other = left(change(), 1)
  await settle()
  other.look()
  await settle()
  expect(other.given).toEqual([])
})
