import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Chat } from '../../../support/chat'
import { built, freshFolder, openTestStore } from '../../../support/store-thread'

describe('opening a store', { timeout: 20_000 }, () => {
  let folder: string
  beforeEach(() => {
    folder = join(freshFolder('open'), 'talaria')
  })
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

  test('makes a folder and files that no other account can read', async () => {
    const store = await openTestStore({ folder })
    await store.append(new Chat('ses_a').created())
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const modes = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)])
    expect(modes.map(([name]) => name)).toEqual(expect.arrayContaining(['lock.sqlite', 'talaria.sqlite', 'talaria.sqlite-wal']))
    expect(new Set(modes.map(([, mode]) => mode))).toEqual(new Set(['600']))
    await store.close()
  })

  test('closes a folder that stood open', async () => {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o755)
    const store = await openTestStore({ folder })
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    await store.close()
  })

  test('gives every database its own identity, once', async () => {
    const store = await openTestStore({ folder })
    const other = await openTestStore({ folder: join(folder, 'other') })
    expect(store.id).toMatch(/^[0-9a-z]{20}$/)
    expect(other.id).not.toBe(store.id)
    await Promise.all([store.close(), other.close()])
    const again = await openTestStore({ folder })
    expect(again.id).toBe(store.id)
    await again.close()
  })

  test('is refused to a second store in this process, with words, and given again after the first closed', async () => {
    const first = await openTestStore({ folder })
    await expect(openTestStore({ folder })).rejects.toMatchObject({ name: 'StoreUnopened', why: 'in_use' })
    await first.append(new Chat('ses_a').created())
    await first.close()
    const second = await openTestStore({ folder })
    expect(await second.load('ses_a')).not.toBeNull()
    await second.close()
  })

  test('is refused while another process has it, and given at once when that was killed', async () => {
    const child = spawn(process.execPath, [await built('tests/support/store-child.ts'), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      expect((await lines.next()).value).toBe('open')
      await expect(openTestStore({ folder })).rejects.toMatchObject({ why: 'in_use', message: expect.stringMatching(/in use by another Talaria.*--state/) as string })
    } finally {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    const store = await openTestStore({ folder })
    expect(await store.check()).toMatchObject({ ok: true })
    await store.close()
  }, 30_000)

  test('refuses a file that is no database, in words that name the folder', async () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'talaria.sqlite'), 'not a database at all '.repeat(100))
    await expect(openTestStore({ folder })).rejects.toMatchObject({ name: 'StoreUnopened', why: 'unreadable', message: expect.stringContaining(folder) as string })
  })
})
