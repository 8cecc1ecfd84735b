import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Attachments } from '../../../../server/attachments/port'
import { makeShelf, UNNAMED_MS } from '../../../../server/attachments/shelf'
import { makeMint } from '../../../../server/contract/ids'
import { freshFolder } from '../../../support/store-thread'

describe('files of chats on the disk', () => {
  let folder: string
  let shelf: Attachments
  let gone: Set<string>
  const DAY_LATER = UNNAMED_MS + 60_000
  let ahead = 0
  const make = () => makeShelf({ folder, mint: makeMint(Date.now, Math.random), now: () => Date.now() + ahead, exists: async (session) => !gone.has(session) })
  beforeEach(() => {
    folder = freshFolder('shelf')
    gone = new Set()
    ahead = 0
    shelf = make()
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const put = async (session: string, name: string, body = 'x') => {
    const receiving = await shelf.receive()
    await receiving.write(Buffer.from(body))
    return (await shelf.keep(session, await receiving.end(), name)).attachment
  }
  const files = (session: string) => (existsSync(join(folder, 'chats', session, 'files')) ? readdirSync(join(folder, 'chats', session, 'files')).sort() : [])

  it('a file that no message named leaves after a day, with its bytes; one that a message named stays', async () => {
    const [named, unnamed] = [await put('ses_a', 'a.txt'), await put('ses_a', 'b.txt')]
    await shelf.claim('ses_a', [{ id: named.id }])
    await shelf.sweep()
    expect(files('ses_a')).toEqual(['a.txt', 'b.txt'])
    ahead = DAY_LATER
    await shelf.sweep()
    expect([await shelf.find('ses_a', named.id), await shelf.find('ses_a', unnamed.id)]).toMatchObject([{ attachment: named }, null])
    expect(files('ses_a')).toEqual(['a.txt'])
    await expect(shelf.claim('ses_a', [unnamed.id])).rejects.toMatchObject({ problem: { code: 'attachment_gone' } })
  })

  it('of a message that names a file and a sweep that removes it exactly one wins', async () => {
    for (let i = 0; i < 30; i++) {
      ahead = 0
      const file = await put('ses_a', `n${i}.txt`)
      ahead = DAY_LATER
      const [claimed] = await Promise.allSettled([shelf.claim('ses_a', [{ id: file.id }]), shelf.sweep()])
      await shelf.sweep()
      expect(files('ses_a').includes(file.name)).toBe(claimed.status === 'fulfilled')
    }
  })

  it('what belongs to no chat leaves, and what was on its way when the server died is removed at the next start', async () => {
    await put('ses_a', 'a.txt')
    await put('ses_b', 'b.txt')
    const half = await shelf.receive()
    await half.write(Buffer.from('half'))
    gone.add('ses_b')
    const next = make()
    await next.begin()
    await next.sweep()
    expect(readdirSync(join(folder, 'chats'))).toEqual(['ses_a'])
    expect(existsSync(join(folder, 'parts'))).toBe(false)
    await half.abandon()
  })

  it('bytes without a record are no file, and leave after a day; a record that was not written to its end is none', async () => {
    await put('ses_a', 'a.txt')
    writeFileSync(join(folder, 'chats', 'ses_a', 'files', 'lost.txt'), 'x')
    writeFileSync(join(folder, 'chats', 'ses_a', 'new', 'att_half.json'), '{"id":"att_ha')
    expect(await shelf.find('ses_a', 'att_half')).toBeNull()
    await shelf.sweep()
    expect(files('ses_a')).toEqual(['a.txt', 'lost.txt'])
    const old = (Date.now() - DAY_LATER) / 1000
    utimesSync(join(folder, 'chats', 'ses_a', 'files', 'lost.txt'), old, old)
    await shelf.sweep()
    expect(files('ses_a')).toEqual(['a.txt'])
  })

  it('another server finds what this one has kept', async () => {
    const file = await put('ses_a', 'a.txt', 'hello')
    expect(await make().claim('ses_a', ['a.txt'])).toEqual([file])
    expect(await make().find('ses_a', file.id)).toEqual({ attachment: file, path: join(folder, 'chats', 'ses_a', 'files', 'a.txt') })
  })

  it('a name that is taken while it is given goes to one alone: twenty at once are twenty files', async () => {
    const names = await Promise.all(Array.from({ length: 20 }, (_, i) => put('ses_a', 'same.txt', String(i)).then(({ name }) => name)))
    expect(new Set(names).size).toBe(20)
    expect(files('ses_a')).toHaveLength(20)
  })
})
