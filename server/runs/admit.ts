import type { Agent, Probe, TurnInput } from '../agents/port'
import { withAttachments } from '../contract/attachments'
import type { Attachment } from '../contract/attachments'
import type { Draft } from '../contract/events'
import { Refusal } from '../contract/problems'
import type { TurnSource } from '../contract/rows'
import { lastRun } from '../contract/session'
import type { AgentKind, AgentRef, ModelRef, SessionHead, Turn } from '../contract/session'
import type { Mint } from '../contract/ids'
import type { SessionState } from '../store/port'
import type { StartInput, Started } from './port'
import type { Ledger } from './ledger'
import { provisionalTitle } from './title'
import { wellFormed } from './wellformed'

/** Scope of the receipts of admissions (spec/log.md §2). */
export const START_ROUTE = '/api/chat/start'

/** What agents are called as long as their probe has not said more. */
export const AGENT_NAMES: Record<AgentKind, string> = {
  scripted: 'Scripted agent', embedded: 'Built-in agent', hermes: 'Hermes Agent', 'hermes-gateway': 'Hermes gateway', acp: 'ACP agent',
}

/** Exactly one of text and retry; a blank text without files is `message_required`. */
export function checkStart(input: StartInput): void {
  if (input.retry !== undefined && input.replaceFrom !== undefined) throw new Refusal('bad_request', 'Try a turn again or send a message in the place of another, not both.')
  if (input.retry !== undefined && input.text !== undefined) throw new Refusal('bad_request', 'Send a message or try a turn again, not both.')
  if (input.retry === undefined && (input.text === undefined || (input.text.trim() === '' && !input.attach))) throw new Refusal('message_required', 'A message is required.')
  if (input.key !== undefined && input.bodyHash === undefined) throw new Refusal('bad_request', 'A key needs the digest of its body.')
}

/** All that is known when a run is admitted, gathered before the claim. */
export interface Admission {
  head: SessionHead
  tail: SessionState['tail']
  agent: AgentRef
  model: ModelRef | null
  /** The model that the chat uses from now on, where the request names one. */
  choose?: ModelRef | null | undefined
  /** The same for how hard it is to think; null: the agent's own measure. */
  effort?: string | null | undefined
  workspace: string
  /** The prompt; without one an earlier turn is tried again. */
  text?: string | undefined
  /** Files that come with it; tried again, a turn has its own, and an edited message keeps its own unless others are named. */
  attachments?: readonly Attachment[] | undefined
  /** Where a file of the chat lies; absent where no message has any. */
  pathOf?: ((name: string) => string) | undefined
  retry?: string | undefined
  /** What leaves in the same append because this message stands in its place. */
  replaced?: Replaced | undefined
  key?: string | undefined
  source: TurnSource
  /** The message of the queue that this is: it leaves the queue in the same append. */
  item?: string
  now: number
}

/** Rows from an edited message on, the turns that leave with them, how many of them the head counts, and whether none stands before them. `forget`: the agent's own session cannot be taken back to before them. */
export interface Replaced { rows: string[]; turns: string[]; counted: number; all: boolean; forget: boolean; /** Its files: an edit that names none keeps them. */ attachments?: readonly Attachment[] }

export interface Admitted {
  drafts: Draft[]
  started: Started
  generation: number
  userRow: string
  turn: TurnInput
}

/**
 * The drafts of an admission: one append that makes the prompt visible, durable and unique, and its run live (spec/log.md §3). Synchronous:
 * ids and places are claimed here. Refuses with `nothing_to_retry`.
 */
export function admit(ledger: Ledger, mint: Mint, a: Admission): Admitted {
  const retried = a.retry === undefined ? null : retriable(a.tail, a.retry)
  const generation = ledger.generation + 1
  const run = mint('run')
  const turn = retried?.id ?? mint('trn')
  const drafts: Draft[] = []
  const first = a.tail.turns.size === 0
  const text = retried ? (a.tail.rows.get(retried.row)?.text ?? '') : wellFormed(a.text ?? '')
  const files = (retried ? filesOf(a.tail, retried) : (a.attachments ?? a.replaced?.attachments)) ?? []
  const begins = first || a.replaced?.all === true
  const title = begins && a.head.titleBy === 'provisional' ? provisionalTitle(text.trim() === '' ? files.map(({ name }) => name).join(', ') : text) : a.head.title
  const change: Draft & { type: 'session.changed' } = { type: 'session.changed' }
  if (title !== a.head.title) Object.assign(change, { title, titleBy: 'provisional' })
  if (a.workspace !== a.head.workspace) change.workspace = a.workspace
  if (a.choose && !sameModel(a.choose, a.head.model)) change.model = a.choose
  Object.assign(change, effortChange(a.head, a.effort))
  if (Object.keys(change).length > 1) drafts.push(change)
  if (a.item !== undefined) drafts.push({ type: 'queue.taken', item: a.item, turn })

  let userRow = retried?.row
  if (retried) drafts.push(...retraction(a.tail, retried))
  else {
    if (a.replaced) drafts.push(...replacement(a.replaced, a.agent))
    userRow = mint('row')
    drafts.push({ type: 'turn.admitted', turn, row: userRow, ...ledger.place(), text, source: a.source, ...withAttachments(files), ...(a.key === undefined ? {} : { key: a.key }) })
  }
  if (first) drafts.push({ type: 'agent.bound', agent: a.agent, why: 'first' })
  drafts.push({
    type: 'run.started', run, turn, generation, attempt: retried ? (lastRun(retried)?.attempt ?? 0) + 1 : 1,
    cause: retried ? 'retried' : 'sent', agent: a.agent, model: a.model,
  })
  return {
    drafts, generation, userRow: userRow!,
    started: { run, turn, session: a.head.id, title, startedAt: a.now, model: a.model },
    turn: { turn, run, text, model: a.model, ...effortOf(a.effort === undefined ? a.head.effort : a.effort), retry: retried !== null, ...given(files, a.pathOf) },
  }
}

/** *Try again* is for the last turn, and only when its last run ended otherwise than completed. */
function retriable(tail: SessionState['tail'], id: string): Turn {
  const turns = [...tail.turns.values()].sort((a, b) => (a.pos < b.pos ? -1 : 1))
  const last = turns.at(-1)
  const run = last && lastRun(last)
  if (!last || last.id !== id || !run || run.state !== 'settled' || run.outcome === 'completed') {
    throw new Refusal('nothing_to_retry', 'There is nothing to try again.')
  }
  return last
}

function filesOf(tail: SessionState['tail'], turn: Turn): readonly Attachment[] | undefined {
  const row = tail.rows.get(turn.row)
  return row?.kind === 'user' ? row.attachments : undefined
}

function given(files: readonly Attachment[], pathOf: Admission['pathOf']): Pick<TurnInput, 'attachments'> {
  return files.length > 0 && pathOf ? { attachments: files.map(({ id, name, mime, size }) => ({ id, name, mime, size, path: pathOf(name) })) } : {}
}

/** Everything that the earlier attempts showed leaves; the question stays. */
function retraction(tail: SessionState['tail'], turn: Turn): Draft[] {
  const rows = tail.order.filter((id) => tail.rows.get(id)?.turn === turn.id && id !== turn.row)
  if (rows.length === 0) return []
  const counted = rows.filter((id) => tail.rows.get(id)?.kind === 'answer').length
  return [{ type: 'rows.retracted', rows, turns: [], why: 'retry', by: turn.id, counted }]
}

function replacement({ rows, turns, counted, forget }: Replaced, agent: AgentRef): Draft[] {
  return [{ type: 'rows.retracted', rows, turns, why: 'edit', counted }, ...(forget ? [{ type: 'agent.bound' as const, agent, why: 'reseeded' as const }] : [])]
}

/** The agent of a run and its model: what the request says, else the chat, else the agent's own. */
export function resolved(agent: Agent, probe: Probe, head: SessionHead, chosen?: ModelRef | null): { ref: AgentRef; model: ModelRef | null } {
  const model = chosen ?? head.model ?? (probe.state === 'ready' ? probe.model : null)
  if (probe.state === 'unavailable' && probe.code === 'no_model' && model === null) {
    throw new Refusal('no_model', 'No model is connected.', { ...(probe.words === undefined ? {} : { words: probe.words }), ...(probe.hint === undefined ? {} : { hint: probe.hint }) })
  }
  return { ref: probe.state === 'ready' ? probe.agent : (head.agent ?? { kind: agent.kind, name: AGENT_NAMES[agent.kind] }), model }
}

function sameModel(a: ModelRef, b: ModelRef | null): boolean {
  return b !== null && a.provider === b.provider && a.id === b.id
}

/** A change of the model that later turns use. */
export function modelChange(head: SessionHead, model: ModelRef | null | undefined): Partial<Draft & { type: 'session.changed' }> {
  if (model === undefined || JSON.stringify(model) === JSON.stringify(head.model)) return {}
  return { model }
}

/** A change of how hard later turns think; null: the agent's own measure. */
export function effortChange(head: SessionHead, effort: string | null | undefined): Partial<Draft & { type: 'session.changed' }> {
  return effort === undefined || effort === (head.effort ?? null) ? {} : { effort }
}

/** As `Opening` and `TurnInput` have it. */
export function effortOf(effort: string | null | undefined): { effort?: string } {
  return effort == null ? {} : { effort }
}

/** How an agent is named that has not said it itself. */
export function namedAgent(kind: AgentKind): AgentRef {
  return { kind, name: AGENT_NAMES[kind] }
}
