import { spawn } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CORPUS } from '../support/corpus'
import { built, freshFolder } from '../support/store-thread'

interface Told { step: string; value: unknown }

/** Runs the child and answers what it told. Null when it could not even begin. */
async function child(command: string, args: string[]): Promise<Map<string, unknown> | null> {
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  running.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  running.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const began = await new Promise<boolean>((resolve) => {
    running.on('error', () => resolve(false))
    running.on('close', () => resolve(true))
  })
  const told = out.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Told)
  if (!began || told.length === 0) return null
  if (told.at(-1)!.step !== 'end') throw new Error(`${out}\n${err}`)
  return new Map(told.map(({ step, value }) => [step, value]))
}

function holds(told: Map<string, unknown>, words: string): void {
  const refused = `store_full: ${words}`
  expect(told.get('full')).toMatchObject({ send: refused, queue: refused, create: refused })
  expect(told.get('read while full')).toEqual({ list: 3, window: 2, ok: true })
  expect(told.get('decide while full')).toBe(refused)
  expect(told.get('nothing changed')).toBe(true)
  expect(told.get('with room again')).toEqual({ ended: ['interrupted', 'store_failed'], said: expect.arrayContaining(['answer: In the middle.']) as string[] })
  expect(told.get('goes on')).toEqual([['user: [[say:Said before.]]', 'answer: Said before.', 'user: [[say:Said after.]]', 'answer: Said after.'], ['completed', null], 'none'])
  expect(told.get('opened again')).toEqual({ ok: true, gapless: true, rows: true, rising: true })
}

const WORDS = 'The disk is full. Nothing was saved.'

test('a database that may not grow is read and not written: every request says that the disk is full, nothing is lost or half there, and with room all goes on', async () => {
  const folder = freshFolder('limit')
  try {
    holds((await child(process.execPath, [await built('tests/support/full-disk-child.ts'), folder, 'limit']))!, WORDS)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('so it is on a disk that is full, and a store of an older schema that cannot be copied beside itself stays as it was', async () => {
  const folder = freshFolder('disk')
  const older = freshFolder('older')
  try {
    copyFileSync(join(CORPUS, '1', 'store.sqlite'), join(older, 'store.sqlite'))
    const entry = await built('tests/support/full-disk-child.ts')
    await built('server/store/thread.ts')
    // A disk of a few megabytes in a mount namespace of its own: it is gone with the process. Where the machine allows none, the limit above is all there is to be shown.
    const mount = 'mount -t tmpfs -o size=6m none "$1" && echo "{\\"step\\":\\"mounted\\"}" && exec "$0" "$2" "$1" disk "$3"'
    const told = await child('unshare', ['-rm', 'sh', '-c', mount, process.execPath, folder, entry, join(older, 'store.sqlite')])
    console.log(told ? 'a disk of its own was filled' : 'this machine gives no disk of its own')
    if (!told) return
    expect(told.get('older, no room')).toMatch(/^error: The disk that holds .* is full: make room on it and start again\. Nothing was lost\.$/)
    expect(told.get('older, left behind')).toEqual([])
    expect(told.get('older, with room')).toEqual([true, 10, 1])
    holds(told, WORDS)
    expect(told.get('full')).toMatchObject({ rename: `store_full: ${WORDS}`, mark: expect.stringMatching(/^full: /) as string })
  } finally {
    for (const one of [folder, older]) rmSync(one, { recursive: true, force: true })
  }
})
