import { expect, test } from 'vitest'
import type { Copies, Shelf } from '../../../../src/cache/port'
import { makeHolding } from '../../../../src/sync/holding'

test('chats of a store that was left while they were read do not count as saved in the next one', async () => {
  let tell!: (ids: string[]) => void
  const first = new Promise<string[]>((resolve) => (tell = resolve))
  const copiesOf = (ids: Promise<string[]>) => ({ saved: async () => ({ ok: true, value: await ids }), close: () => undefined }) as unknown as Copies
  const shelf: Shelf = { last: () => Promise.resolve(null), open: (store) => Promise.resolve(copiesOf(store === 'old' ? first : Promise.resolve(['ses_new']))) }
  const known: string[] = []
  const holding = makeHolding(shelf, { opened: () => undefined, known: () => known.push(holding.store()!) })
  holding.adopt('old')
  const adopted = holding.adopted()
  await Promise.resolve()
  await holding.change('new')
  tell(['ses_old'])
  await adopted
  expect(holding.saved('ses_new')).toBe(true)
  expect(holding.saved('ses_old')).toBe(false)
  expect(known).toEqual(['new'])
})
