import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../../../server/folder'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'talaria-folder-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const mode = (path: string) => statSync(path).mode & 0o777

test('a folder is made with those above it; what is there stays as it is', async () => {
  mkdirSync(join(root, 'a'), { mode: 0o755 })
  await makeFolder(join(root, 'a', 'b', 'c'), 0o700)
  expect([mode(join(root, 'a')), mode(join(root, 'a', 'b')), mode(join(root, 'a', 'b', 'c'))]).toEqual([0o755, 0o700, 0o700])
  await makeFolder(join(root, 'a', 'b', 'c'), 0o755)
  expect(mode(join(root, 'a', 'b', 'c'))).toBe(0o700)
  symlinkSync(join(root, 'a'), join(root, 'link'))
  await makeFolder(join(root, 'link', 'd'), 0o700)
  expect(statSync(join(root, 'a', 'd')).isDirectory()).toBe(true)
})

test('made by several at once, it is made', async () => {
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(join(root, 'x', 'y', 'z'), 0o700)))
  expect(statSync(join(root, 'x', 'y', 'z')).isDirectory()).toBe(true)
})

test('a file in the way is the system\'s error', async () => {
  writeFileSync(join(root, 'file'), '')
  await expect(makeFolder(join(root, 'file'), 0o700)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(root, 'file', 'below', 'it'), 0o700)).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.runIf(process.platform === 'linux')('where none can be made it is an error and not an endless search', async () => {
  await expect(makeFolder('/proc/no-such-thing/talaria', 0o700)).rejects.toMatchObject({ code: 'ENOENT' })
})
