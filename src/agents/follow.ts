import { createEffect, createMemo, createSignal, on, onCleanup, type Accessor } from 'solid-js'
import type { AgentsAnswer } from '../../server/contract/agents'

/** While an agent starts, its state is asked for again after this long, ms. */
const NEAR_MS = 700

export interface Follow {
  answer: Accessor<AgentsAnswer | undefined>
  /** Why they could not be read; null when they could, or nothing is known yet. */
  failed: Accessor<unknown>
  refresh: () => Promise<void>
}

/** How the agents stand: asked once the server is there, on every change of `when`, and again and again while `near` says that one is about to change. */
export function createFollow(parts: {
  ask: () => Promise<AgentsAnswer>
  later: (ms: number, run: () => void) => () => void
  online: Accessor<boolean>
  when: (answer: AgentsAnswer | undefined) => unknown
  near: (answer: AgentsAnswer | undefined) => boolean
}): Follow {
  const [answer, setAnswer] = createSignal<AgentsAnswer>()
  const [failed, setFailed] = createSignal<unknown>(null)
  let newest = 0
  let over = false
  let callOff: (() => void) | null = null
  onCleanup(() => {
    over = true
    callOff?.()
  })
  const refresh = async () => {
    const mine = ++newest
    callOff?.()
    callOff = null
    try {
      const next = await parts.ask()
      if (mine !== newest || over) return
      setAnswer(next)
      setFailed(null)
    } catch (error) {
      if (mine !== newest || over) return
      setFailed(error)
    }
    if (parts.online() && parts.near(answer())) callOff = parts.later(NEAR_MS, () => void refresh())
  }
  // What they say is compared: an answer that changes neither asks for no other one.
  const when = createMemo(() => parts.when(answer()))
  const there = createMemo(() => parts.online())
  createEffect(on([there, when], ([online]) => {
    if (online) void refresh()
  }))
  return { answer, failed, refresh }
}
