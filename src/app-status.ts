import { createEffect, createSignal, on, onCleanup, type Accessor } from 'solid-js'
import type { ModelsStatus } from '../server/contract/models'
import { KEYS, quickGet, quickSet, type AppParts } from './app-parts'
import type { ConnectActions } from './connect/port'
import type { Route } from './shell/route'
import type { Connection } from './sync/port'

/** With a chat open, what is connected is asked for this long after the connection stands, ms. */
const AFTER_CHAT_MS = 600

/** What can answer new chats. */
export interface Status {
  /** Undefined until the server said it. */
  status: Accessor<ModelsStatus | undefined>
  /** The server was asked once, whether it answered or not. */
  asked: Accessor<boolean>
  refresh: () => Promise<void>
  /** What the form and the first screen ask of the server. */
  actions: ConnectActions
  /** What this device held when it was last here; a word for the time before the server has answered. */
  before: () => boolean
}

/** Asks what is connected: at the start, and again each time the server is back. */
export function createStatus(parts: AppParts, connection: Accessor<Connection>, route: Accessor<Route>): Status {
  const [status, setStatus] = createSignal<ModelsStatus>()
  const [asked, setAsked] = createSignal(false)
  const ask = () => parts.backend.call('GET /api/onboarding/status', {})
  const refresh = async () => {
    try {
      const next = await ask()
      setStatus(next)
      quickSet(parts.quick, KEYS.connected, next.completed ? '1' : null)
    } catch {
      // Nothing is known without the server; the composer does not pretend otherwise.
    }
    setAsked(true)
  }
  createEffect(
    on(
      () => connection().state === 'connected',
      (connected) => {
        // A chat is shown first: what is connected matters to the next message, not to reading.
        if (!connected) return
        if (route().name === 'session') onCleanup(parts.later(AFTER_CHAT_MS, () => void refresh()))
        else void refresh()
      },
    ),
  )
  return {
    status, asked, refresh,
    before: () => quickGet(parts.quick, KEYS.connected) === '1',
    actions: {
      status: ask,
      probe: (input) => parts.backend.call('POST /api/onboarding/probe', input),
      setup: (input) => parts.backend.call('POST /api/onboarding/setup', input),
      remove: async (provider) => {
        await parts.backend.call('POST /api/providers/delete', { provider })
      },
    },
  }
}
