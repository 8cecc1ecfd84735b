import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually, newChat, say } from '../wire/api'

/** The built store thread, which ends by itself when what it is asked holds these words. */
const MORTAL = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', (message) => {
  if (JSON.stringify(message).includes('end the writer')) throw new Error('out of memory, as it were')
  if (JSON.stringify(message).includes('end-the-reader')) process.exit(3)
})
await import('./thread-itself.js')
`

let folder: string
let dist: string
let product: Product | null
beforeEach(() => {
  folder = productFolder()
  dist = join(folder, 'dist')
  cpSync(join(process.cwd(), 'dist'), dist, { recursive: true })
  renameSync(join(dist, 'server/thread.js'), join(dist, 'server/thread-itself.js'))
  writeFileSync(join(dist, 'server/thread.js'), MORTAL)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'state'))
})
afterEach(async () => {
  await product?.kill()
  removeFolder(folder)
})

describe('a thread of the store that ends by itself', () => {
  it.each([
    ['the one that writes', /Talaria ends: .*writer thread ended: out of memory, as it were/, (server: Product, session: string) => call(server, 'POST /api/session/rename', { session_id: session, title: 'end the writer' })],
    ['one that reads', /Talaria ends: .*reader thread ended/, (server: Product) => call(server, 'GET /api/session/status', { session_id: 'end-the-reader' })],
  ])('%s: ends the server with words and a code, and the turn that was running is interrupted at the next start', async (_, words, ask) => {
    product = await startProduct({ folder, dist, args: ['--demo'] })
    const session = await newChat(product)
    const run = await say(product, session, '[[say:kept]][[silence]]')
    await eventually('it has said something', async () => (await call(product!, 'GET /api/session/changes', { session_id: session })).body.rows.some((row) => row.text === 'kept'))
    await Promise.allSettled([ask(product, session)])
    const code = await new Promise((resolve) => (product!.child.exitCode === null ? product!.child.once('exit', resolve) : resolve(product!.child.exitCode)))
    expect(code).toBe(1)
    expect(product.said()).toMatch(words)

    product = await startProduct({ folder, dist, args: ['--demo'] })
    const { body } = await call(product, 'GET /api/session/changes', { session_id: session })
    expect(body.turns[0]!.runs).toMatchObject([{ id: run, state: 'settled', outcome: 'interrupted' }])
    expect(body.rows.map((row) => [row.kind, row.state, row.text])).toContainEqual(['answer', 'done', 'kept'])
    expect(await product.end()).toBe(0)
  })
})
