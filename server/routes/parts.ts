import type { Agent, Timers } from '../agents/port'
import type { Feed } from '../feed/feed'
import type { Models } from '../models/port'
import type { ProfileContext } from '../profiles/context'
import type { Runs } from '../runs/port'
import type { Store } from '../store/port'

/** Everything that the routes are made from; nothing here is found by itself (law 13). */
export interface Parts {
  store: Store
  runs: Runs
  feed: Feed
  models: Models
  agents: Agent[]
  /** The profile that the server was started with; every request is of it. */
  profile: ProfileContext
  /** Names of the profiles that exist: the owner of a session is named to others only when it is one of them. */
  profileNames(): Promise<string[]>
  /** Folder of new chats. */
  defaultWorkspace: string
  timers: Timers
  version: string
  /** Server's ms. */
  startedAt: number
  /** Takes what nobody foresaw; never silent. */
  report(error: unknown): void
}
