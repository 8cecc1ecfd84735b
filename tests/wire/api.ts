import type { InputOf, OutputOf, RouteName } from '../../server/contract/routes'
import { methodOf, pathOf } from '../../server/contract/routes'
import type { Problem } from '../../server/contract/problems'
import type { TestServer } from '../support/server'

/** A call by the contract's table. `problem` where the answer is not 2xx. */
export type Told<N extends RouteName> = { status: number; headers: Headers; body: OutputOf<N>; problem: Problem }

export async function call<N extends RouteName>(server: Pick<TestServer, 'url'>, name: N, input: InputOf<N>, headers: Record<string, string> = {}): Promise<Told<N>> {
  const path = pathOf(name).replace(/\{(\w+)\}/g, (_, member: string) => encodeURIComponent(String((input as Record<string, unknown>)[member])))
  const address = new URL(path, server.url)
  const get = methodOf(name) === 'GET'
  if (get) for (const [key, value] of Object.entries((input ?? {}) as Record<string, unknown>)) if (value !== undefined) address.searchParams.set(key, String(value))
  const answer = await fetch(address, get ? { headers } : { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(input) })
  const body: unknown = await answer.json()
  return { status: answer.status, headers: answer.headers, body: body as OutputOf<N>, problem: body as Problem }
}

export async function newChat(server: Pick<TestServer, 'url'>): Promise<string> {
  const made = await call(server, 'POST /api/session/new', {})
  if (made.status !== 200) throw new Error(JSON.stringify(made.problem))
  return made.body.session.session_id
}

/** Starts a turn and gives its run. */
export async function say(server: Pick<TestServer, 'url'>, session: string, message: string): Promise<string> {
  const started = await call(server, 'POST /api/chat/start', { session_id: session, message })
  if (started.status !== 200) throw new Error(JSON.stringify(started.problem))
  return started.body.stream_id
}

/** Polls until `look` gives something; fails with `what` after a while. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined | null | false> | T | undefined | null | false, ms = 10_000): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > deadline) throw new Error(`It did not come about: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function settled(server: Pick<TestServer, 'url'>, stream: string): Promise<void> {
  await eventually(`${stream} settles`, async () => (await call(server, 'GET /api/chat/stream/status', { stream_id: stream })).body.state === 'settled')
}
