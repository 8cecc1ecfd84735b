import type { AgentHistory, AgentSession } from '../../agents/port'
import type { Mint } from '../../contract/ids'
import type { AgentKind, AgentRef } from '../../contract/session'
import type { ProfileContext } from '../../profiles/context'
import type { ForeignRow, Store } from '../../store/port'
import type { LiveRun } from '../run'

/** What being of one mind with an agent's own store takes, for one turn of one chat. */
export interface ForeignParts {
  history: AgentHistory
  profile: ProfileContext
  session: string
  store: Store
  mint: Mint
  run: LiveRun
  agent: AgentRef & { kind: AgentKind }
  /** The stored session that the chat is bound to, and where it stood when we were last of one mind; as it was before the turn was admitted. */
  foreign: string | undefined
  mark: string | undefined
  /** How many messages stood before the turn. */
  count: number
  title: string
  cwd: string
  /** Rows of the chat were retracted with the admission of this turn, or it is tried again: the mark says nothing then. */
  anew: 'retried' | 'replaced' | null
  /** The session with the agent on this stored session; opened if it is not. */
  open(foreign: string | undefined): Promise<AgentSession>
  /** Ends the session that is open: what it has in memory is not what is stored. */
  renew(): Promise<void>
}

/** The same of these rows of one stored session, at the cost of their number. */
export async function knownAmong({ store, session, history, profile }: Pick<ForeignParts, 'store' | 'session' | 'history' | 'profile'>, foreign: string, rows: readonly string[]): Promise<Map<string, string | null>> {
  return new Map((await store.foreign(session, { store: history.store(profile), session: foreign, rows })).map(({ row, ours }) => [row, ours]))
}

/** What is known of the agent's store, by the ids of its rows; those of a session that the agent has moved to another one are among them. */
export async function knownOf({ store, session, history, profile }: Pick<ForeignParts, 'store' | 'session' | 'history' | 'profile'>): Promise<Map<string, string | null>> {
  const name = history.store(profile)
  return new Map((await store.foreign(session)).flatMap((row): [string, string | null][] => (row.store === name ? [[row.row, row.ours]] : [])))
}

/** Rows to be known from now on, of those that are not yet. */
export function newlyKnown({ history, profile }: Pick<ForeignParts, 'history' | 'profile'>, foreign: string, known: ReadonlyMap<string, string | null>, rows: Iterable<readonly [string, string | null]>): ForeignRow[] {
  const store = history.store(profile)
  return [...rows].flatMap(([row, ours]) => (known.has(row) ? [] : [{ store, session: foreign, row, ours }]))
}
