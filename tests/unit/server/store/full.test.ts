import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { emptyTranscript, fold } from '../../../../server/contract/fold'
import type { Append, Store, StoreFault } from '../../../../server/store/port'
import { Chat } from '../../../support/chat'
import { freshFolder, openTestStore } from '../../../support/store-thread'

/** Appends until the store says no. */
async function fill(store: Store, chat: Chat): Promise<Append> {
  for (let length = 0; ; length += 20_000) {
    const append = chat.grew('trn_1', 'row_1', length, 'x'.repeat(20_000), { urgency: 'now' })
    try {
      await store.append(append)
    } catch (error) {
      expect(error).toMatchObject({ name: 'StoreFault', kind: 'full' } satisfies Partial<StoreFault>)
      chat.undo(append)
      return append
    }
  }
}

test('a full disk refuses the append and all that shared its commit, keeps what stood, and takes appends again once there is room', async () => {
  const folder = freshFolder('full')
  const store = await openTestStore({ folder, maxBytes: 1_000_000 })
  try {
    const [chat, ballast] = [new Chat('ses_a'), new Chat('ses_b')]
    for (const one of [chat, ballast]) for (const append of [one.created(), one.admitted('trn_1', 'x'), one.opened('trn_1', 'row_1')]) await store.append(append)
    let length = 0
    for (; length < 300_000; length += 30_000) await store.append(ballast.grew('trn_1', 'row_1', length, 'y'.repeat(30_000), { urgency: 'now' }))
    await fill(store, chat)
    const before = await store.load('ses_a')
    const head = await store.head()
    const grown = chat.grew('trn_1', 'row_1', before!.tail.rows.get('row_1')!.text.length, 'z'.repeat(50_000))
    const other = new Chat('ses_c').created()
    const results = await Promise.allSettled([store.append(grown), store.append(other)])
    expect(results.map((result) => (result.status === 'rejected' ? (result.reason as StoreFault).kind : 'taken'))).toEqual(['full', 'full'])
    expect(await store.load('ses_a')).toEqual(before)
    expect(await store.load('ses_c')).toBeNull()
    expect(await store.head()).toBe(head)

    await store.append(ballast.append([{ type: 'session.deleted' }]))
    await store.append(grown)
    await store.append(other)
    const log = await store.events('ses_a', { afterSeq: 0, limit: 1000 })
    expect((await store.load('ses_a'))!.tail).toEqual(fold(emptyTranscript(), log))
    expect(await store.check()).toMatchObject({ ok: true })
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}, 30_000)
