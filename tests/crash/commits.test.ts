import { cpSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually } from '../wire/api'
import { Witness } from './witness'

/** The built store thread, which kills the whole server before the n-th commit after a chat was named `die at commit n`. */
const MORTAL = `
import { parentPort } from 'node:worker_threads'
let left = null
parentPort.on('message', (message) => {
  if (message?.verb !== 'commit') return
  if (left !== null && --left === 0) process.kill(process.pid, 'SIGKILL')
  const text = JSON.stringify(message)
  if (text.includes('"session.changed"')) left = Number(/die at commit (\\d+)/.exec(text)?.[1] ?? NaN) || left
})
await import('./thread-itself.js')
`

const SAID = 'Hello there, and the rest of it.'
/** With pauses, so that what happens is seldom joined into one commit. */
const SCRIPT = [
  '[[reason:I think about it.]]', '[[say:Hello there, ]]', '[[plan:+Look | >Say]]', '[[tool:read {"verb":"read","target":"a.md","result":"Alpha","ms":60}]]', '[[usage:{"input":7}]]', '[[say:and the rest ]]', '[[say:of it.]]',
].join('[[delay:60]]')

const folder = productFolder()
const dist = join(folder, 'dist')
cpSync(resolve(process.env.TALARIA_DIST ?? 'dist'), dist, { recursive: true })
renameSync(join(dist, 'server/thread.js'), join(dist, 'server/thread-itself.js'))
writeFileSync(join(dist, 'server/thread.js'), MORTAL)
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
let product: Product | null = null
afterAll(async () => {
  await product?.kill()
  removeFolder(folder)
})

const start = async (): Promise<Product> => (product = await startProduct({ folder, dist, args: ['--demo'] }))

it('cases 84–88 and 91: a server killed at any commit of a turn has settled it at the next start, at once, with its prompt once, what was shown, and one mark of how it ended', async () => {
  let server = await start()
  let whole = false
  let n = 0
  while (!whole && n < 60) {
    n++
    const { body: made } = await call(server, 'POST /api/session/new', { agent: 'scripted' })
    const witness = new Witness(made.session.session_id)
    await witness.watch(server.url)
    await call(server, 'POST /api/session/rename', { session_id: witness.session, title: `die at commit ${n}` })
    const key = `key-${n}`
    const send = (on: Product) => call(on, 'POST /api/chat/start', { session_id: witness.session, message: SCRIPT, key })
    const asked = await send(server).catch(() => null)
    if (asked) {
      expect(asked.status, JSON.stringify(asked.problem)).toBe(200)
      witness.started.set(key, { message: SCRIPT, run: asked.body.stream_id, turn: asked.body.turn_id })
    }
    const { child } = server
    await eventually('the server dies, or the turn is over', () => {
      whole = child.exitCode === null && child.signalCode === null && witness.look().some((event) => event.type === 'run.settled')
      return whole || child.signalCode !== null
    })
    if (whole) {
      witness.close()
      break
    }
    witness.look()
    server = await start()

    // Before the first commit nothing was taken, and the same request begins it; after it the same request answers what it answered.
    const first = (await call(server, 'GET /api/session/changes', { session_id: witness.session })).body
    expect(first.turns.length, `commit ${n}`).toBe(n === 1 ? 0 : 1)
    if (first.turns[0]) {
      const [run] = first.turns[0].runs
      expect(first.turns[0].runs).toHaveLength(1)
      expect(run, `commit ${n}`).toMatchObject({ state: 'settled', outcome: 'interrupted', problem: { code: 'server_restarted' } })
      expect(first.rows.filter((row) => row.state === 'live')).toEqual([])
      const said = first.rows.filter((row) => row.kind === 'answer').map((row) => row.text).join('')
      expect(SAID.startsWith(said), said).toBe(true)
    }
    const { body: again } = await send(server)
    witness.started.set(key, { message: SCRIPT, run: again.stream_id, turn: again.turn_id })
    if (first.turns[0]) expect(again.stream_id).toBe(first.turns[0].runs[0]!.id)
    const over = await eventually('it is over', async () => {
      const { body } = await call(server, 'GET /api/session/changes', { session_id: witness.session })
      return body.turns.at(-1)?.runs.at(-1)?.state === 'settled' ? body : null
    })
    expect(over.rows.filter((row) => row.kind === 'user').map((row) => row.text)).toEqual([SCRIPT])
    await witness.verify(server.url)
    witness.close()
  }
  console.log(`killed at ${n - 1} commits of a turn`)
  expect(whole).toBe(true)
  // A busy machine joins more of them.
  expect(n).toBeGreaterThan(5)
  expect(await server.end()).toBe(0)
}, 120_000)
