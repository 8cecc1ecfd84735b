import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { seeded } from '../support/runs-rig'
import { call, eventually } from '../wire/api'
import { Witness } from './witness'

const KILLS = 60
const folder = productFolder()
let last: Product | null = null
afterAll(async () => {
  await last?.kill()
  removeFolder(folder)
})

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
const random = seeded(seed)
const under = (n: number): number => Math.floor(random() * n)
const one = <T>(list: readonly T[]): T => list[under(list.length)]!

/** What a turn may consist of; short, so that kills fall into everything. */
const PARTS = [
  () => `[[reason:I look at ${under(1000)} things.]]`, () => `[[say:Some words about number ${under(1000)}.]]`, () => `[[deltas:${50 + under(2000)}]]`,
  () => `[[tool:read {"verb":"read","target":"a.md","result":"Alpha","ms":${under(60)}}]]`, () => `[[delay:${under(80)}]]`, () => '[[split]]',
  () => `[[ask:echo ${under(100)}]]`, () => `[[ask:echo ${under(100)} || echo ${under(100)}]]`, () => '[[segment]]', () => '[[error:rate_limit Slow down]]',
  () => `[[usage:{"input":${under(100)}}]]`, () => `[[plan:+Look | >Change ${under(9)} | Test]]`, () => `[[clarify:Which of ${under(9)}? | red | blue]]`, () => '[[hear:40]]',
]
const script = (): string => Array.from({ length: 2 + under(7) }, () => one(PARTS)()).join('')

/**
 * `kill -9` at random instants of scripted turns (laws 4–7): what was acknowledged or shown stands after each restart, once; the sequence has
 * no gap; every run has one outcome; the database is whole. SEED repeats the choices, not the instants.
 */
it(`survives ${KILLS} kills without losing or doubling anything that was acknowledged or shown`, async () => {
  console.log(`kill test: seed ${seed}`)
  const witnesses: Witness[] = []
  let active: Witness[] = []
  let turns = 0
  for (let kill = 0; kill < KILLS; kill++) {
    if (kill % 8 === 7) await killInStart(under(400))
    const product = await start(kill)
    // What was asked and not answered is asked again, as a client does: it counts once.
    await Promise.all(active.map((witness) => repeat(product, witness)))
    await idle(product, active)
    for (const witness of active) await witness.verify(product.url)
    for (const witness of active) if (witness.started.size > 3) witness.close()
    active = active.filter((witness) => witness.started.size <= 3)
    while (active.length < 3) {
      const witness = await open(product)
      witnesses.push(witness)
      active.push(witness)
    }
    let alive = true
    const work = active.map((witness) => drive(product, witness, () => alive))
    await new Promise((resolve) => setTimeout(resolve, 20 + under(900)))
    await product.kill()
    alive = false
    await Promise.all(work)
    turns = witnesses.reduce((sum, witness) => sum + witness.started.size, 0)
  }
  const product = await start(0)
  try {
    await Promise.all(active.map((witness) => repeat(product, witness)))
    await idle(product, active)
    for (const witness of witnesses) await witness.verify(product.url)
    const events = witnesses.reduce((sum, witness) => sum + witness.shown.size, 0)
    console.log(`kill test: ${witnesses.length} chats, ${turns} turns, ${events} events, ${witnesses.reduce((sum, each) => sum + each.decided.size, 0)} answers, ${witnesses.reduce((sum, each) => sum + each.stopped.size, 0)} stops`)
    expect(turns).toBeGreaterThan(KILLS)
    expect(events).toBeGreaterThan(turns * 5)
  } finally {
    for (const witness of witnesses) witness.close()
    expect(await product.end()).toBe(0)
  }
}, 240_000)

async function start(kill: number): Promise<Product> {
  const product = await startProduct({ folder, args: ['--demo'] })
  last = product
  if (kill % 10 === 0) {
    const { body } = await call(product, 'GET /health', { deep: '1' })
    expect(body.checks?.store).toMatchObject({ ok: true })
    // What runs now is a word that waited in a queue; nothing of the dead server does.
    await eventually('nothing runs', async () => (await call(product, 'GET /health', {})).body.active_runs === 0)
  }
  return product
}

/** A kill while the server settles what the one before left. */
async function killInStart(ms: number): Promise<void> {
  const child = spawn(process.execPath, [join(process.cwd(), 'dist/server/main.js'), '--port', '0', '--home', join(folder, 'home'), '--state', join(folder, 'state'), '--demo'], {
    stdio: 'ignore', env: { PATH: process.env.PATH ?? '', HOME: folder, HERMES_WEBUI_DEFAULT_WORKSPACE: join(folder, 'work') },
  })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  await new Promise((resolve) => setTimeout(resolve, ms))
  child.kill('SIGKILL')
  await ended
}

async function open(product: Product): Promise<Witness> {
  const { body } = await call(product, 'POST /api/session/new', { agent: 'scripted' })
  const witness = new Witness(body.session.session_id)
  await witness.watch(product.url)
  return witness
}

/** Sends turns, answers questions and stops now and then, until the server is dead. */
async function drive(product: Product, witness: Witness, alive: () => boolean): Promise<void> {
  try {
    while (alive()) {
      const run = await send(product, witness, `key-${seed}-${witness.session}-${witness.started.size + witness.unanswered.size}`, script())
      const stopAt = random() < 0.3 ? Date.now() + under(200) : Infinity
      if (!run) await new Promise((resolve) => setTimeout(resolve, 5))
      while (run && alive()) {
        const fresh = witness.look()
        for (const event of fresh) {
          if (event.type === 'approval.raised') await decide(product, witness, event.approval)
          if (event.type === 'clarify.raised') await call(product, 'POST /api/clarify/respond', { session_id: witness.session, clarify_id: event.clarify, response: one(['red', 'something else']) })
        }
        if (random() < 0.02) await call(product, 'POST /api/chat/steer', { session_id: witness.session, text: `[[say:word ${under(1000)}]]` })
        if (fresh.some((event) => event.type === 'run.settled' && event.run === run)) break
        if (Date.now() > stopAt && !witness.stopped.has(run)) {
          const { status, body } = await call(product, 'GET /api/chat/cancel', { stream_id: run })
          if (status === 200 && body.cancelled) witness.stopped.add(run)
          else break
        }
        await new Promise((resolve) => setTimeout(resolve, 4))
      }
    }
  } catch (error) {
    // A refused connection or a cut answer: the server is dead. What it had told before counts, nothing else.
    if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error
  }
  witness.look()
}

async function send(product: Product, witness: Witness, key: string, message: string): Promise<string | null> {
  witness.unanswered.set(key, message)
  const { status, body, problem } = await call(product, 'POST /api/chat/start', { session_id: witness.session, message, key })
  if (status !== 200) {
    witness.unanswered.delete(key)
    // The end of the run before was shown before its actor heard of it, or a stop came first: not now.
    if (problem.code === 'session_busy') return null
    throw new Error(`start was refused: ${JSON.stringify(problem)}`)
  }
  witness.started.set(key, { message, run: body.stream_id, turn: body.turn_id })
  witness.unanswered.delete(key)
  return body.stream_id
}

async function decide(product: Product, witness: Witness, approval: string): Promise<void> {
  const choice = one(['once', 'deny'] as const)
  const { status, body } = await call(product, 'POST /api/approval/respond', { session_id: witness.session, approval_id: approval, choice })
  if (status === 200 && body.ok && !body.stale_cleared) witness.decided.set(approval, choice)
}

/** Sends things once more under their keys: answered as before, or admitted now for the first time. */
async function repeat(product: Product, witness: Witness): Promise<void> {
  const known = [...witness.started]
  if (known.length) {
    const [key, { message, run, turn }] = one(known)
    const { body } = await call(product, 'POST /api/chat/start', { session_id: witness.session, message, key })
    expect([body.stream_id, body.turn_id]).toEqual([run, turn])
  }
  for (const [key, message] of [...witness.unanswered]) {
    // A word that came back to the queue may be on its way first.
    const run = await eventually(`the repeated start of ${key} is taken`, () => send(product, witness, key, message))
    await call(product, 'GET /api/chat/cancel', { stream_id: run }).then(({ body }) => body.cancelled && witness.stopped.add(run))
    for (let i = 0; i < 2000; i++) {
      if ((await call(product, 'GET /api/chat/stream/status', { stream_id: run })).body.state === 'settled') break
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** Nothing runs in these chats and nothing begins any more: what waits in a queue, waits for the person. */
async function idle(product: Product, witnesses: Witness[]): Promise<void> {
  await eventually('nothing waits to be sent', async () => {
    for (const { session } of witnesses) {
      const { body } = await call(product, 'GET /api/chat/queue', { session_id: session })
      if (body.items.length > 0 && !body.paused) return false
    }
    return (await call(product, 'GET /health', {})).body.active_runs === 0
  })
}
