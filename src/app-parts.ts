import type { Accessor, Component } from 'solid-js'
import type { Backend } from './backend/port'
import type { Drafts, QuickShelf } from './composer/drafts'
import type { Sync } from './sync/port'
import type { TranscriptProps } from './transcript/port'

/** Everything that the page reaches outside with; tests pass their own (law 13). */
export interface AppParts {
  sync: Sync
  backend: Backend
  drafts: Drafts
  /** Small things of this device: look, what was seen and is not told yet, whether the sidebar is folded. */
  quick: QuickShelf
  /** A new idempotency key. */
  mintKey: () => string
  /** The host that one talks to, as in the address bar. */
  host: string
  Transcript: Component<TranscriptProps>
  device: Device
  /** Server's ms minus this device's, as far as it is known. */
  skew?: () => number
  later: (ms: number, run: () => void) => () => void
}

/** What the browser says of this device. */
export interface Device {
  install: Accessor<'ready' | 'done' | 'no'>
  askInstall: () => void
  offline: Accessor<'ready' | 'starting' | 'none'>
  used: () => Promise<number | null>
  /** A new build waits: what loads it. Null while there is none. */
  update: Accessor<(() => void) | null>
  /** Puts text on the clipboard; false when the browser refused. */
  copy: (text: string) => Promise<boolean>
}

/** Names of the small things. */
export const KEYS = { seen: 'talaria.seen', way: 'talaria.way', folded: 'talaria.folded', connected: 'talaria.connected', side: 'talaria.side' } as const

/** Reads a small thing; forbidden storage holds nothing. */
export function quickGet(quick: QuickShelf, key: string): string | null {
  try {
    return quick.getItem(key)
  } catch {
    return null
  }
}

/** Keeps a small thing; null removes it. A refusal loses a convenience and nothing else. */
export function quickSet(quick: QuickShelf, key: string, value: string | null): void {
  try {
    if (value === null) quick.removeItem(key)
    else quick.setItem(key, value)
  } catch {
    // Full or forbidden.
  }
}
