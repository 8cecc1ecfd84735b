import { createRoot, createSignal } from 'solid-js'
import { expect, test } from 'vitest'
import type { AgentInfo, AgentsAnswer } from '../../../../server/contract/agents'
import { createFollow } from '../../../../src/agents/follow'

const settle = () => new Promise((resolve) => setTimeout(resolve))
const answerOf = (state: AgentInfo['state']): AgentsAnswer => ({ agents: [{ kind: 'hermes', name: 'Hermes Agent', profile: 'default', state, capabilities: [], chosen: true, restarts: 0 }], chosen: 'hermes', chosen_by: 'default' })

function following(first: AgentsAnswer | Error = answerOf('ready')) {
  let asked = 0
  let says: AgentsAnswer | Error = first
  let waiting: (() => void)[] = []
  const [online, setOnline] = createSignal(true)
  const [when, setWhen] = createSignal('a')
  return createRoot((dispose) => {
    const follow = createFollow({
      ask: () => {
        asked++
        return says instanceof Error ? Promise.reject(says) : Promise.resolve({ ...says })
      },
      later: (_, run) => {
        waiting.push(run)
        return () => (waiting = waiting.filter((one) => one !== run))
      },
      online,
      // Reads the answer, as the header does.
      when: (answer) => `${when()} ${answer?.chosen}`.slice(0, 1),
      near: (answer) => answer?.agents[0]?.state === 'starting',
    })
    return { follow, dispose, setOnline, setWhen, asked: () => asked, waiting: () => waiting.length, says: (next: AgentsAnswer | Error) => (says = next), pass: () => waiting.splice(0).forEach((run) => run()) }
  })
}

test('it is asked once, and not again because of its own answer', async () => {
  const it = following()
  for (let i = 0; i < 5; i++) await settle()
  expect(it.asked()).toBe(1)
  expect(it.waiting()).toBe(0)
  it.dispose()
})

test('it is asked anew when something has changed, and when the server is back', async () => {
  const it = following()
  await settle()
  it.setWhen('b')
  await settle()
  it.setOnline(false)
  it.setOnline(true)
  await settle()
  expect(it.asked()).toBe(3)
  it.dispose()
})

test('while an agent starts it is asked again and again, and no more once it is there or nobody looks', async () => {
  const it = following(answerOf('starting'))
  await settle()
  it.pass()
  await settle()
  expect([it.asked(), it.waiting()]).toEqual([2, 1])
  it.says(answerOf('ready'))
  it.pass()
  await settle()
  expect([it.follow.answer()!.agents[0]!.state, it.waiting()]).toEqual(['ready', 0])
  it.says(answerOf('starting'))
  await it.follow.refresh()
  it.dispose()
  expect(it.waiting()).toBe(0)
})

test('a failure is told and keeps what was known', async () => {
  const it = following()
  await settle()
  it.says(new Error('gone'))
  await it.follow.refresh()
  expect(it.follow.failed()).toEqual(new Error('gone'))
  expect(it.follow.answer()!.chosen).toBe('hermes')
  it.says(answerOf('idle'))
  await it.follow.refresh()
  expect(it.follow.failed()).toBeNull()
  it.dispose()
})
