import { createServer } from 'node:net'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { productFolder, removeFolder, startProduct, type Product, type ProductOptions } from '../support/product'
import { call, eventually, newChat, say } from './api'
import { openSse } from './sse'
import { request, wire } from './raw'

// The built product as a process of its own; the script answers.
const started: Product[] = []
afterEach(async () => {
  for (const product of started.splice(0)) {
    await product.kill()
    removeFolder(product.folder)
  }
})

async function start(options: ProductOptions = {}): Promise<Product> {
  const product = await startProduct({ args: ['--demo'], ...options })
  started.push(product)
  return product
}

/** A start that is over by itself. */
async function run(args: string[], given?: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const folder = given ?? productFolder()
  const env = { PATH: process.env.PATH ?? '', HOME: folder, HERMES_HOME: join(folder, 'home'), HERMES_WEBUI_STATE_DIR: join(folder, 'state') }
  const child = spawn(process.execPath, [join(process.cwd(), 'dist/server/main.js'), ...args], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes) => (stdout += String(bytes)))
  child.stderr.on('data', (bytes) => (stderr += String(bytes)))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (given === undefined) removeFolder(folder)
  return { code, stdout, stderr }
}

it('answers on both loopbacks, on the one port that it prints, and keeps its things in the state folder', async () => {
  const server = await start()
  expect(server.said()).toMatch(/^Talaria \d+\.\d+\.\d+: http:\/\/localhost:\d+\n$/)
  for (const host of ['127.0.0.1', '[::1]']) {
    const answer = await fetch(`http://${host}:${server.port}/health`)
    expect(answer.status).toBe(200)
  }
  expect(existsSync(join(server.folder, 'state', 'talaria', 'talaria.sqlite'))).toBe(true)
  expect(readdirSync(join(server.folder, 'home'))).toEqual([])
  const { body } = await call(server, 'GET /api/onboarding/status', {})
  expect(body).toMatchObject({ completed: true, default: { provider: 'scripted' } })
  expect(await server.end()).toBe(0)
  expect(server.said().split('\n')).toHaveLength(2)
})

describe('does not start', () => {
  it('where other machines could reach it', async () => {
    expect(await run(['--host', '0.0.0.0'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('no sign-in yet') as string })
  })
  it('on a state folder that is in use, nor on a port that answers', async () => {
    const server = await start()
    const second = await run(['--port', '0'], server.folder)
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toContain('is in use by another Talaria')
    const elsewhere = await run(['--port', String(server.port)])
    expect(elsewhere).toMatchObject({ code: 1, stdout: '' })
    expect(elsewhere.stderr).toContain(`Something answers on port ${server.port} already`)
    // The refused ones took nothing from it.
    expect((await call(server, 'GET /health', {})).status).toBe(200)
  })
  it('on a port that only one of the two addresses has free', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '::1', resolve))
    const { port } = other.address() as { port: number }
    expect((await run(['--port', String(port)])).stderr).toContain(`Something answers on port ${port} already`)
    await new Promise((resolve) => other.close(resolve))
  })
  it('but says its version and its flags', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string, stderr: '' })
    const help = await run(['--help'])
    for (const flag of ['--host', '--port', '--home', '--state', '--open', '--demo', '--help', '--version']) expect(help.stdout).toContain(flag)
  })
})

it('ends in order on SIGTERM in mid-answer: streams end, the run settles as interrupted with what it wrote, and the next start has it', async () => {
  const first = await start()
  const chat = await newChat(first)
  const events = await openSse(`${first.url}/api/events?session_id=${chat}`)
  const run = await say(first, chat, '[[say:Kept words.]] [[silence]]')
  const stream = await openSse(`${first.url}/api/chat/stream?stream_id=${run}`)
  const said = () => stream.events.map((each) => (each.event === 'token' ? String(each.data.text) : '')).join('')
  await stream.until(() => said().includes('Kept words.'))
  const idle = await wire(first.port)
  idle.write(request('GET', '/health'))
  await idle.until(() => idle.answers().length === 1)

  expect(await first.end()).toBe(0)
  await Promise.all([events.ended(), stream.ended()])
  expect(await idle.closed()).toBe(true)
  expect(first.said().split('\n')).toHaveLength(2)

  const second = await start({ folder: first.folder })
  const { body } = await call(second, 'GET /api/session/changes', { session_id: chat })
  expect(body.rows.map((row) => row.text)).toContain('Kept words.')
  expect(body.turns.map((turn) => turn.runs.map((each) => [each.state, each.outcome]))).toEqual([[['settled', 'interrupted']]])
  expect((await call(second, 'GET /health', {})).body).toMatchObject({ active_runs: 0, sessions: 1 })
})

it('takes one Ctrl-C, which arrives once from the terminal and once from each program around it, as one; a later one ends it at once', async () => {
  const first = await start()
  const chat = await newChat(first)
  const run = await say(first, chat, '[[say:Kept words.]] [[silence]]')
  await eventually('the words are stored', async () => (await call(first, 'GET /api/session/changes', { session_id: chat })).body.rows.some((row) => row.text === 'Kept words.'))
  const code = new Promise((resolve) => first.child.once('exit', resolve))
  for (let i = 0; i < 3; i++) first.child.kill('SIGINT')
  expect(await code).toBe(0)

  const second = await start({ folder: first.folder })
  const { body } = await call(second, 'GET /api/session/changes', { session_id: chat })
  expect(body.turns[0]!.runs).toMatchObject([{ id: run, outcome: 'interrupted', problem: { code: 'server_stopped' } }])
  // An agent that does not listen holds up the end for three seconds; whoever presses again need not wait for it.
  await say(second, chat, '[[deaf]]')
  const ended = new Promise((resolve) => second.child.once('exit', resolve))
  second.child.kill('SIGINT')
  const again = setInterval(() => second.child.kill('SIGINT'), 50)
  expect(await ended).toBe(1)
  clearInterval(again)
})

it('killed in mid-answer, it settles the run before it answers anybody', async () => {
  const first = await start()
  const chat = await newChat(first)
  const run = await say(first, chat, '[[say:Kept words.]] [[silence]]')
  await eventually('the words are stored', async () => (await call(first, 'GET /api/session/changes', { session_id: chat })).body.rows.some((row) => row.text === 'Kept words.'))
  await first.kill()
  const second = await start({ folder: first.folder })
  expect((await call(second, 'GET /api/chat/stream/status', { stream_id: run })).body).toMatchObject({ active: false, state: 'settled', outcome: 'interrupted' })
  // The old stream tells its end to a client that comes back with its cursor.
  const stream = await openSse(`${second.url}/api/chat/stream?stream_id=${run}`)
  await stream.ended()
  expect(stream.events.at(-1)).toMatchObject({ event: 'apperror', data: { type: 'interrupted' } })
})

it('says what is wrong with a state folder that cannot be used', async () => {
  const folder = productFolder()
  writeFileSync(join(folder, 'file'), '')
  const { code, stderr } = await run(['--port', '0', '--state', join(folder, 'file')], folder)
  expect(code).toBe(1)
  expect(stderr).toContain(`The state folder is ${join(folder, 'file')}`)
  expect(stderr).not.toContain('    at ')
  removeFolder(folder)
})
