// @vitest-environment node
import { beforeEach, expect, test } from 'vitest'
import { HIDDEN_POLL_MS, makeHiddenPoll, type HiddenPoll } from '../../../../src/sync/hidden-poll'
import { FakeTimers } from '../../../support/fake-timers'

class Refused extends Error {
  constructor(readonly status: number) {
    super(String(status))
  }
}

let timers: FakeTimers
let poll: HiddenPoll
let asked: { session: string; at: number; answer: (given: unknown) => void; refuse: (status: number) => void }[]
let news: string[]
let finals: string[]

beforeEach(() => {
  timers = new FakeTimers(0)
  asked = []
  news = []
  finals = []
  poll = makeHiddenPoll({
    clock: { now: timers.now, after: timers.after, idle: (run) => timers.after(0, run) },
    ask: (session) =>
      new Promise((resolve, reject) => {
        asked.push({ session, at: timers.now(), answer: resolve as (given: unknown) => void, refuse: (status) => reject(new Refused(status)) })
      }),
    isFinal: (error) => error instanceof Refused && (error.status === 404 || error.status === 410),
    onNews: (session) => news.push(session),
    onFinal: (session) => finals.push(session),
  })
})

test('the first request leaves at once, the next exactly 6000 ms later', async () => {
  poll.start('A')
  await timers.advance(HIDDEN_POLL_MS * 2)
  expect(asked.map(({ at }) => at)).toEqual([0, 6000, 12_000])
})

for (const status of [404, 410])
  test(`a ${status} for the bound chat ends it, and another chat begins anew`, async () => {
    poll.start('A')
    asked[0]!.refuse(status)
    await timers.advance(60_000)
    expect(asked.length).toBe(1)
    expect(poll.bound()).toBe(null)
    expect(finals).toEqual(['A'])
    poll.start('B')
    expect(asked.map(({ session }) => session)).toEqual(['A', 'B'])
  })

for (const status of [404, 410])
  test(`a late ${status} for a chat that is not bound any more does not end the other one`, async () => {
    poll.start('A')
    poll.start('B')
    asked[0]!.refuse(status)
    await timers.advance(HIDDEN_POLL_MS)
    expect(poll.bound()).toBe('B')
    expect(asked.map(({ session }) => session)).toEqual(['A', 'B', 'B'])
  })

test('everything else that goes wrong is a tick without an answer, twenty times over', async () => {
  poll.start('A')
  for (const status of [500, 502, 503, 429, 409, 401, 403, 0, ...Array<number>(12).fill(503)]) {
    asked[asked.length - 1]!.refuse(status)
    await timers.advance(HIDDEN_POLL_MS)
  }
  expect(asked.length).toBe(21)
  expect(finals).toEqual([])
})

test('an answer that is not silent and never comes does not keep the next tick', async () => {
  poll.start('A')
  await timers.advance(HIDDEN_POLL_MS)
  expect(asked.length).toBe(2)
})

test('it says when something differs from the answer before, and only then', async () => {
  const status = (more: object) => ({ active_stream_id: null, agent_running: false, message_count: 1, last_message_at: 1, attention: null, title: 'A', ...more })
  poll.start('A')
  asked[0]!.answer(status({}))
  await timers.advance(HIDDEN_POLL_MS)
  asked[1]!.answer(status({ updated_at: 99 }))
  await timers.advance(HIDDEN_POLL_MS)
  expect(news).toEqual([])
  asked[2]!.answer(status({ active_stream_id: 'run_1' }))
  await timers.advance(1)
  expect(news).toEqual(['A'])
})

test('a message that waits and a question that is asked or answered are news', async () => {
  const status = (more: object) => ({ active_stream_id: 'run_1', agent_running: true, message_count: 1, last_message_at: 1, attention: null, queued: 0, title: 'A', ...more })
  poll.start('A')
  const answers = [{}, { queued: 1 }, { queued: 1, attention: { kind: 'approval', count: 1, severity: 'warning' } }, { queued: 1 }, { queued: 1 }]
  for (const [n, more] of answers.entries()) {
    asked[n]!.answer(status(more))
    await timers.advance(HIDDEN_POLL_MS)
  }
  expect(news).toEqual(['A', 'A', 'A'])
})

test('started twice, there is one timer', async () => {
  poll.start('A')
  poll.start('A')
  await timers.advance(HIDDEN_POLL_MS)
  expect(asked.map(({ at }) => at)).toEqual([0, 0, 6000])
  poll.stop()
  await timers.advance(60_000)
  expect(asked.length).toBe(3)
})
