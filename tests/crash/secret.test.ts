import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually, newChat, say } from '../wire/api'
import { openSse } from '../wire/sse'

const SECRET = 'correct-horse-9f3a7c-battery-staple'
let folder = ''
let product: Product | null = null
afterEach(async () => {
  await product?.kill()
  removeFolder(folder)
})

/** In a file, a stream or an answer a value may also stand as bytes of another form. */
const forms = (secret: string): Buffer[] => [Buffer.from(secret), Buffer.from(secret, 'utf16le'), Buffer.from(Buffer.from(secret).toString('base64').slice(0, -4)), Buffer.from(Buffer.from(secret).toString('hex'))]

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Which files hold it in any form. */
function holders(words = SECRET): string[] {
  return files(folder).filter((file) => {
    const bytes = readFileSync(file)
    return forms(words).some((form) => bytes.includes(form))
  })
}

it.each([['in the server', {}], ['in a process of its own', { TALARIA_SCRIPTED_AGENT: 'detached' }]])('a secret given to an agent %s reaches it, and is found nowhere afterwards: no file, log, event, row or answer', async (_, env) => {
  folder = productFolder()
  product = await startProduct({ folder, args: ['--demo'], env: env as Record<string, string> })
  const server = product
  const session = await newChat(server)
  const stream = await openSse(`${server.url}/api/events?session_id=${session}&after=0`)
  const expectHash = createHash('sha256').update(SECRET).digest('hex')
  const script = (title: string): string => `[[secret:{"prompt":"${title}","env":"API_KEY","expect":"${expectHash}"}]][[silence]]`
  const answers: string[] = []
  const pending = async (): Promise<string> =>
    eventually('it asks', async () => (await call(server, 'GET /api/secret/pending', { session_id: session })).body.pending?.secret_id)
  const give = async (secret_id: string, more: Record<string, unknown> = {}) => {
    const answer = await fetch(`${server.url}/api/secret/respond`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', ...(more.header as Record<string, string> | undefined) }, body: JSON.stringify({ session_id: session, secret_id, value: SECRET }),
    })
    answers.push(await answer.text())
    return answer.status
  }

  // Given twice at once, with a key that must leave no receipt, to a question that is not there, and after the run was stopped.
  const run = await say(server, session, script('The key'))
  const first = await pending()
  expect(await give('sec_unknown')).toBeGreaterThanOrEqual(400)
  const statuses = await Promise.all([give(first, { header: { 'Idempotency-Key': 'once-1' } }), give(first)])
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  const rows = await eventually('the agent has it', async () => {
    const { body } = await call(server, 'GET /api/session/changes', { session_id: session })
    return body.rows.some((row) => row.text.startsWith('(the right secret was given)')) ? body.rows : null
  })
  expect(rows.find((row) => row.kind === 'question')).toMatchObject({ state: 'done', secret: { state: 'answered', given: true } })
  await call(server, 'GET /api/chat/cancel', { stream_id: run })
  await eventually('it has stopped', async () => (await call(server, 'GET /health', {})).body.active_runs === 0)
  expect(await give(first)).toBeGreaterThanOrEqual(400)

  const second = await say(server, session, script('The key again'))
  const open = await pending()
  await call(server, 'GET /api/chat/cancel', { stream_id: second })
  await eventually('it has stopped', async () => (await call(server, 'GET /health', {})).body.active_runs === 0)
  expect(await give(open)).toBeGreaterThanOrEqual(400)

  const told = [
    JSON.stringify(stream.events), ...answers, JSON.stringify((await call(server, 'GET /api/session/changes', { session_id: session })).body), server.said(),
  ]
  for (const text of told) for (const form of forms(SECRET)) expect(Buffer.from(text).includes(form)).toBe(false)
  expect(holders()).toEqual([])
  stream.cut()
  // The write-ahead log goes into the database at the end; a killed server leaves it as it is.
  await server.kill()
  expect(holders()).toEqual([])
  product = await startProduct({ folder, args: ['--demo'], env: env as Record<string, string> })
  expect(await product.end()).toBe(0)
  expect(holders()).toEqual([])
  // What may be kept is found by the same search.
  expect(holders('The key again')).not.toEqual([])
}, 60_000)
