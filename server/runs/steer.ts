import type { AgentSession, Delivery } from '../agents/port'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import type { QueueItem } from '../contract/queue'
import type { Row } from '../contract/rows'
import type { AgentKind, RunOutcome } from '../contract/session'
import { StoreRefusal } from '../store/port'
import type { Entry, Ledger } from './ledger'
import { MailboxClosed } from './mailbox'
import type { Steered } from './port'
import { returning } from './queue'
import { keyReused } from './receipt'
import { refusalOf } from './refuse'
import type { LiveRun } from './run'
import { wellFormed } from './wellformed'

/** Scope of the receipts of words into a running turn. */
export const STEER_ROUTE = '/api/chat/steer'

/** Kinds of agents whose turns take words; a gateway's do not, and a kind that we do not know is none of ours (law 9). */
const TAKES_WORDS: Record<AgentKind, boolean> = { embedded: true, scripted: true, hermes: true, acp: true, 'hermes-gateway': false }

interface Word { row: string; text: string; openedAt: number; state: 'accepted' | 'delivered' | 'draft' | 'queue'; /** Its request was answered that it is back with the person: no later word of the agent, and no end of the run, says otherwise. */ back?: true }

/** The words that were sent into one run. Each ends once: delivered, or given back. Everything answers drafts; nothing here writes. */
export class Steers {
  #words = new Map<string, Word>()
  /** What their requests were or will be answered, for those who ask again with the same key. */
  readonly answers = new Map<string, Promise<Steered>>()

  constructor(private readonly p: { run: string; turn: string; mint: Mint; ledger: Ledger; monotonic: () => number }) {}

  stateOf(steer: string): Word['state'] | undefined {
    return this.#words.get(steer)?.state
  }

  /** The row that shows it, and that it is ours to bring to the agent or to give back. Ids and the place are claimed here. */
  accept(steer: string, text: string): Draft[] {
    const row = this.p.mint('row')
    this.#words.set(steer, { row, text, openedAt: this.p.monotonic(), state: 'accepted' })
    return [
      { type: 'row.opened', row, ...this.p.ledger.place(), turn: this.p.turn, run: this.p.run, kind: 'steer', text },
      { type: 'steer.accepted', steer, row, run: this.p.run },
    ]
  }

  /** Words of the run before that `run.started` made live again: they are with the agent. */
  resume(rows: readonly Row[]): void {
    for (const row of rows) if (row.kind === 'steer') this.#words.set(row.steer.id, { row: row.id, text: row.text, openedAt: this.p.monotonic(), state: 'accepted' })
  }

  /** Its append did not take place. */
  forget(steer: string): void {
    this.#words.delete(steer)
    this.answers.delete(steer)
  }

  /** The person is told that they have it back; the log says so at the end of the run. */
  giveBack(steer: string): void {
    const word = this.#words.get(steer)
    if (word) word.back = true
  }

  delivered(steer: string, evidence: 'seen' | 'inferred'): Draft[] {
    if (this.#words.get(steer)?.back) return []
    return this.#end(steer, 'delivered', 'done', (row) => ({ type: 'steer.delivered', steer, row, run: this.p.run, evidence }))
  }

  refused(steer: string): Draft[] {
    return this.#end(steer, 'draft', 'cancelled', (row) => ({ type: 'steer.returned', steer, row, run: this.p.run, to: 'draft' }))
  }

  /** The run ends: what was not delivered goes to the head of the queue after `completed`, else nowhere but into the person's hands (spec/log.md §3). */
  end(outcome: RunOutcome, queue: readonly QueueItem[]): Draft[] {
    const all = [...this.#words].filter(([, word]) => word.state === 'accepted')
    if (outcome !== 'completed') return all.flatMap(([steer]) => this.refused(steer))
    const back = all.flatMap(([steer, word]) => (word.back ? this.refused(steer) : []))
    const open = all.filter(([, word]) => !word.back)
    const { items, drafts } = returning(queue, this.p.mint, open.map(([, { text }]) => text))
    return [...back, ...drafts, ...open.flatMap(([steer], i) => this.#end(steer, 'queue', 'cancelled', (row) => ({ type: 'steer.returned', steer, row, run: this.p.run, to: 'queue', item: items[i]! })))]
  }

  #end(steer: string, state: Word['state'], closed: 'done' | 'cancelled', draft: (row: string) => Draft): Draft[] {
    const word = this.#words.get(steer)
    if (word?.state !== 'accepted') return []
    word.state = state
    const duration = Math.max(0, Math.round(this.p.monotonic() - word.openedAt))
    return [draft(word.row), { type: 'row.closed', row: word.row, run: this.p.run, state: closed, duration }]
  }
}

/**
 * A word into the running turn (settlement.md §6.1): everything is checked in the same tick in which the run's mailbox takes it, and again before
 * the agent is told; accepted is in the log before that. Refused fails closed, with the original's codes.
 */
export async function steer(run: LiveRun, text: string, receiptFor?: (steer: string) => NonNullable<Entry['receipt']>): Promise<Steered> {
  const barred = whyNot(run)
  if (barred) return barred
  const id = run.mint('str')
  const answer = run.mailbox.post(() => bring(run, id, wellFormed(text), receiptFor?.(id))).catch((error: unknown): Steered => {
    if (error instanceof MailboxClosed) return dead(run)
    throw error instanceof StoreRefusal ? error : refusalOf(error)
  })
  run.steers.answers.set(id, answer)
  return answer
}

/** Null when this run takes words now. */
function whyNot(run: LiveRun): Steered | null {
  if (!run.admitted || run.mailbox.closed || run.stopping || run.settled || run.draining) return dead(run)
  const takes: boolean | undefined = TAKES_WORDS[run.agentRef.kind]
  if (takes === undefined) return dead(run)
  if (!takes) return { accepted: false, code: 'gateway_steer_queued', run: run.id }
  if (!run.agent) return { accepted: false, code: 'no_cached_agent', run: run.id }
  return run.agent.steer ? null : { accepted: false, code: 'agent_lacks_steer', run: run.id }
}

function dead(run: LiveRun): Steered {
  return { accepted: false, code: 'stream_dead', run: run.id }
}

async function bring(run: LiveRun, id: string, text: string, receipt: Entry['receipt']): Promise<Steered> {
  const barred = whyNot(run)
  if (barred) return barred
  try {
    await run.ledger.write({ drafts: run.steers.accept(id, text), generation: run.generation, ...(receipt ? { receipt } : {}) })
  } catch (error) {
    run.steers.forget(id)
    throw error
  }
  // A run that ended or is stopping meanwhile gives it back; its agent is not told any more.
  if (run.mailbox.closed || !run.agent?.steer) return outcome(run, id)
  const delivery = await Promise.race([tell(run.agent, id, text), run.journal.asking.over])
  if (!delivery || delivery.state === 'delivered') return outcome(run, id)
  const drafts = run.steers.refused(id)
  if (drafts.length === 0) return outcome(run, id)
  await run.ledger.write({ drafts, generation: run.generation })
  return { accepted: false, code: delivery.code === 'not_running' ? 'not_running' : delivery.code === 'unsupported' ? 'agent_lacks_steer' : 'steer_error', run: run.id }
}

async function tell(agent: AgentSession, id: string, text: string): Promise<Delivery> {
  try {
    return await agent.steer!(id, text)
  } catch (error) {
    return { state: 'refused', code: 'relay_failed', words: String(error) }
  }
}

/** Accepted, unless it is in the person's hands again or will be: a late word of the agent counts nothing once the run is stopping (settlement.md §6.6). */
function outcome(run: LiveRun, id: string): Steered {
  const state = run.steers.stateOf(id)
  const lost = state === 'draft' || (state === 'accepted' && (run.stopping !== null || run.draining))
  if (lost) run.steers.giveBack(id)
  return lost ? dead(run) : { accepted: true, run: run.id, steer: id }
}

/** What a request is answered that comes again with its key: as before, which its run may still be about to say. */
export async function steeredBefore(answered: Promise<Steered> | undefined, stored: { run: string; steer: string }): Promise<Steered> {
  return answered ?? { accepted: true, ...stored }
}

/** For a key that another request used while this one waited. */
export function reusedReceipt(error: unknown, bodyHash: string): { run: string; steer: string } {
  if (!(error instanceof StoreRefusal) || error.why !== 'key_reused' || !error.receipt) throw refusalOf(error)
  if (error.receipt.bodyHash !== bodyHash) throw keyReused()
  return error.receipt.body as { run: string; steer: string }
}
