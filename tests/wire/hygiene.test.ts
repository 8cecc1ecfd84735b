import { expect, it } from 'vitest'
import { systemTimers } from '../../server/runs/timers'
import { OriginalClient } from '../support/original-client'
import { startServer } from '../support/server'
import { eventually } from './api'

/** The pauses of the hygiene pass at once: a minute after the start, then an hour. Every other time is its own. */
function hasty() {
  const real = systemTimers()
  return { ...real, now: () => real.now(), monotonic: () => real.monotonic(), after: (ms: number, then: () => void) => real.after(ms === 60_000 || ms === 3_600_000 ? 100 : ms, then) }
}

it('the steps of answers that have ended leave the log while the server runs, and what clients read stays the same', async () => {
  const server = await startServer({ parts: { timers: hasty(), keepEventsMs: 1 } })
  const client = new OriginalClient(server.port)
  const session = await client.chat()
  const stream = await client.run(await client.start(session, '[[reason:Hm.]] [[tool:read {"target":"a.md","result":"seven"}]] [[say:Words that stay.]]'))
  await stream.ended()
  const before = [await client.messages(session), (await client.get('/api/session/changes', { session_id: session })).body.rows]
  await eventually('the hygiene', async () => !(await server.store.events(session, { afterSeq: 0, limit: 1000 })).some(({ type }) => type.startsWith('row.')))
  expect([await client.messages(session), (await client.get('/api/session/changes', { session_id: session })).body.rows]).toEqual(before)
  expect(server.errors.map(String)).toEqual([])
  await server.end()
})
