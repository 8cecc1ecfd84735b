import type { AgentChoice } from '../agents/choice'
import type { Offers } from '../agents/offers'
import type { Agent, Timers } from '../agents/port'
import type { Attachments } from '../attachments/port'
import type { Feed } from '../feed/feed'
import type { Models } from '../models/port'
import type { Profiles } from '../profiles/profiles'
import type { Runs } from '../runs/port'
import type { Store } from '../store/port'

/** Everything that the routes are made from; nothing here is found by itself (law 13). */
export interface Parts {
  store: Store
  runs: Runs
  feed: Feed
  /** Files of messages. */
  attachments: Attachments
  models: Models
  agents: Agent[]
  /** Which of them new chats use. */
  choice: AgentChoice
  /** What each offers to choose from. */
  offers: Offers
  /** Every request is of one of them: its cookie's, else the one that the server was started with. */
  profiles: Profiles
  /** Folder of new chats. */
  defaultWorkspace: string
  timers: Timers
  version: string
  /** Server's ms. */
  startedAt: number
  /** Takes what nobody foresaw; never silent. */
  report(error: unknown): void
}
