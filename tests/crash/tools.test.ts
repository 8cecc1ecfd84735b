import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Changes } from '../../server/contract/wire'
import { calls, says, startFakeModel, stream } from '../support/fake-model'
import type { FakeModel } from '../support/fake-model'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually } from '../wire/api'
import { alive, readOr } from './alive'

let folder: string
let model: FakeModel
let product: Product | null
let left: number[] = []

beforeEach(async () => {
  folder = productFolder()
  model = await startFakeModel()
  writeFileSync(join(folder, 'home', 'config.yaml'), `model:\n  default: fake-model\n  provider: custom\n  base_url: ${model.base}\n`)
})
afterEach(async () => {
  await product?.kill()
  for (const pid of left.splice(0).filter(alive)) process.kill(pid, 'SIGKILL')
  await model.close()
  removeFolder(folder)
})

const start = async (): Promise<Product> => (product = await startProduct({ folder }))

/** A chat of the built-in agent whose shell, allowed by a person, started a child of its own and waits. */
async function workingShell(): Promise<{ session: string; run: string; pids: number[] }> {
  const server = product!
  model.next(stream(...calls({ name: 'shell', args: { command: 'sleep 300 & echo $$ $! > pids; wait' } })), stream(...says('Never said.')))
  const session = (await call(server, 'POST /api/session/new', {})).body.session.session_id
  const { body } = await call(server, 'POST /api/chat/start', { session_id: session, message: 'Run it' })
  await eventually('it asks', async () => (await call(server, 'GET /api/approval/pending', { session_id: session })).body.pending)
  await call(server, 'POST /api/approval/respond', { session_id: session, choice: 'once' })
  const pids = await eventually('the shell runs', () => {
    const numbers = readOr(join(server.work, 'pids')).trim().split(' ').map(Number)
    return numbers.length === 2 && numbers.every(alive) ? numbers : null
  })
  left = [...pids]
  return { session, run: body.stream_id, pids }
}

const rowsOf = async (session: string): Promise<Changes> => (await call(product!, 'GET /api/session/changes', { session_id: session })).body

describe('a shell command that was running', () => {
  it.runIf(process.platform === 'linux')('when the server was killed is ended at the next start, with its children; its step is unknown and the turn interrupted', async () => {
    await start()
    const { session, run, pids } = await workingShell()
    await product!.kill()
    expect(pids.every(alive)).toBe(true)
    await start()
    await eventually('its processes are gone', () => !pids.some(alive))
    const changes = await rowsOf(session)
    expect(changes.rows.find((row) => row.kind === 'tool')).toMatchObject({ state: 'unknown', approval: { state: 'decided', kind: 'once' } })
    expect(changes.turns[0]!.runs).toMatchObject([{ id: run, outcome: 'interrupted', problem: { code: 'server_restarted' } }])
    expect(model.asked()).toHaveLength(1)
  })

  it.runIf(process.platform === 'linux')('and ended after the server was killed is followed by what it left in the background, at the next start', async () => {
    await start()
    const { pids } = await workingShell()
    await product!.kill()
    process.kill(pids[0]!, 'SIGKILL')
    await eventually('only the child is left', () => readOr(`/proc/${pids[0]}/stat`) === '' && alive(pids[1]!))
    await start()
    await eventually('the child is gone, too', () => !alive(pids[1]!))
  })

  it('when the server was told to end is ended with it, before it exits', async () => {
    await start()
    const { session, run, pids } = await workingShell()
    expect(await product!.end()).toBe(0)
    expect(pids.some(alive)).toBe(false)
    await start()
    const changes = await rowsOf(session)
    expect(changes.turns[0]!.runs).toMatchObject([{ id: run, outcome: 'interrupted', problem: { code: 'server_stopped' } }])
    expect(changes.rows.every((row) => row.state !== 'live')).toBe(true)
  })
})
