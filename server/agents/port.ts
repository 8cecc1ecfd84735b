import type { AgentFault, Capability } from '../contract/agents'
import type { ApprovalRequest } from '../contract/approvals'
import type { RunProblem } from '../contract/problems'
import type { ClarifyRequest, SecretRequest } from '../contract/questions'
import type { PlanEntry, ToolHead, ToolLocation, ToolVerb } from '../contract/rows'
import type { AgentKind, AgentRef, ModelRef, RunOutcome, Usage } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { ProgramStatus } from './supervise/port'

/**
 * What `runs/` sees of any agent (spec/agents.md §2–3). An adapter translates its own protocol into these events and nothing else:
 * it mints no rows, writes no store, knows no HTTP, and keeps no state that must survive.
 */
export interface Agent {
  readonly kind: AgentKind
  probe(profile: ProfileContext): Promise<Probe>
  open(opening: Opening, sink: Sink): Promise<AgentSession>
  /**
   * After our restart: what became of a turn that was live (spec/log.md §9). `gone` also for an agent that cannot know. Open questions that the
   * agent still asks are raised again through the sink; `foreign` values are the ones it gave then.
   */
  reattach?(opening: Opening, binding: Binding, sink: Sink): Promise<Reattached>
  /**
   * Turns that an earlier server left in the agent, running or ended and not told; asked once at our start. By them a turn is found again that a restart has
   * settled and, killed itself, did not take up. Absent for an agent that cannot list them.
   */
  survivors?(): Promise<{ session: string; foreign: string }[]>
  /** What it offers to choose from; by capability `models`. */
  models?(profile: ProfileContext): Promise<ModelOffer[]>
  /** Its own transcripts; absent for an agent whose history is ours. By capability `own_history`. */
  history?: AgentHistory
  /** How it stands for this profile; for an agent with a program of its own. */
  status?(profile: ProfileContext): Promise<AgentStatus>
  /** Ends its program and starts it again; live runs on it settle as interrupted. */
  restart?(profile: ProfileContext): Promise<void>
  /** Ends every session and process of this agent. */
  end(): Promise<void>
}

export type Probe =
  | { state: 'ready'; agent: AgentRef; capabilities: Capability[]; model: ModelRef | null }
  | { state: 'unavailable'; code: string; words?: string; hint?: string }

/** How an agent with a program of its own stands; nothing is started for it. `fault` also with a usable one that wants a warning (`untested`). */
export interface AgentStatus { program?: ProgramStatus; path?: string; version?: string; fault?: AgentFault; words?: string; hint?: string }

export type { Capability } from '../contract/agents'

/**
 * An agent that keeps its own transcripts (spec/agents.md §7): what is needed to be of one mind with them. It reads stored sessions and needs no open one; what cannot be read
 * now is thrown, never answered as empty.
 */
export interface AgentHistory {
  /** Names the store of a profile: rows of two stores are never the same, whatever their ids. */
  store(profile: ProfileContext): string
  /** Where a stored session stands, opaque and cheap: with another mark than before, somebody wrote there. Null: there is none of that id. */
  mark(profile: ProfileContext, foreign: string): Promise<string | null>
  /**
   * All that its model would see of it, oldest first, and the mark that goes with that. Null: there is none. `from`: what stands before so many rows is not wanted; an agent that cannot
   * leave it out gives all.
   */
  read(profile: ProfileContext, foreign: string, from?: number): Promise<{ mark: string; messages: StoredMessage[] } | null>
  /** Writes a new stored session of these messages, so that the agent remembers them; answers its id. */
  seed(profile: ProfileContext, session: { title: string; cwd: string; messages: { role: 'user' | 'assistant'; text: string }[] }): Promise<string>
}

/**
 * One row of an agent's store, in plain words, as they would have been shown. `id` is unique in the store and never used again. `at`: server's ms. `synthetic`: no person wrote it, or it
 * is no answer: a `marker` says something about the session, such as a summary in the place of rows that are no longer read; a `begins` is what the agent began a turn with by itself.
 */
export type StoredMessage = { id: string; at: number } & (
  | { role: 'user'; text: string; synthetic?: 'marker' | 'begins' }
  | { role: 'assistant'; text: string; reasoning?: string; calls: StoredCall[]; synthetic?: 'marker' }
  | { role: 'tool'; call: string; state: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'; result: string }
)

export type StoredCall = Pick<ToolHead, 'call' | 'name' | 'verb' | 'target' | 'args'>

/** `efforts`: how hard it can be told to think, weakest first; absent where it cannot be told. */
export interface ModelOffer { ref: ModelRef; label: string; contextSize?: number; efforts?: string[] }

export interface Opening {
  profile: ProfileContext
  session: string
  /** The agent's own stored session, as bound before. */
  foreign?: string
  cwd: string
  model: ModelRef | null
  /** How hard it is to think, one of the model's `efforts`; absent: the agent's own measure. */
  effort?: string
  /** Reads the stored context, for agents without a history of their own. */
  context: () => Promise<StoredContext[]>
}

/** What the store kept of a run that was live when we ended. */
export interface Binding { turn: string; run: string; foreign: string; counters?: Record<string, number>; /** `foreign` values of questions that were open. */ questions: string[]; /** Words that it was told, or was about to be, and of which it has not said that it used them. */ steers?: string[]; /** What was shown of the turn, for an agent that can tell what is new since. */ shown?: Shown[] }

/** A row of a turn as it was shown, in order: a text, or a call of a tool. `live`: it had not ended. */
export type Shown = { kind: 'answer' | 'thought'; text: string } | { kind: 'tool'; call: string; live: boolean }

/**
 * `message`: the text of the message that the agent is in, or the last one of the turn, as it has it now; null when it cannot say. The sink gets
 * only what comes after it. `open`: calls of tools that still run. `taken`: of `Binding.steers`, those that it has: the sink hears of each that it uses, also of those
 * that it has used meanwhile. `used`: those that it has used; no other is with it any more. What is not named is with the person.
 */
export type Reattached =
  | { state: 'running'; session: AgentSession; end: Promise<TurnEnd>; message: string | null; open: string[]; taken?: string[] }
  | { state: 'ended'; end: TurnEnd; message: string | null; closed: { call: string; state: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'; result?: string }[]; used?: string[] }
  | { state: 'gone' }

export interface StoredContext { message: unknown; turn: string }

/** One live session with an agent. The sink lives as long as it does. */
export interface AgentSession {
  /** Runs one submitted turn to its single end; never rejects for anything the agent did. */
  turn(input: TurnInput): Promise<TurnEnd>
  /** Commands in mid-turn, in the order of the run's mailbox. */
  decide(question: string, choice: string): Promise<Delivery>
  stop(reason: 'person' | 'server' | 'delete' | 'store_failed'): Promise<void>
  /** A clarifying question's answer. */
  answer?(question: string, text: string): Promise<Delivery>
  /** A secret's value; null: the person does not give it. The adapter forgets it at once. */
  give?(question: string, value: string | null): Promise<Delivery>
  /** `delivered` here means taken: the agent has it, and the sink says `steer.delivered` when it has used it. What was taken and not delivered by the turn's end is given back. */
  steer?(steer: string, text: string): Promise<Delivery>
  /**
   * Takes back a user's row of its store with all that came after it, in the store and in memory, while no turn runs. May fail, and may do too little or too much: whoever asks reads the store again.
   */
  rewind?(row: string): Promise<void>
  /** True when what it shows as reasoning may repeat what it says (spec/settlement.md §4): the journal then keeps an index and cuts the echo. */
  readonly echoes?: boolean
  close(): Promise<void>
}

/** A file of a message, as an agent is given it: `path` is absolute, on this machine; nothing may be written there. */
export interface TurnAttachment { id: string; name: string; mime: string; size: number; path: string }

export interface TurnInput { turn: string; run: string; text: string; model: ModelRef | null; /** As in `Opening`. */ effort?: string; /** True for *Try again* with an agent whose history is ours: context of the earlier attempt is already gone. One with its own has been rewound, and is told nothing. */ retry: boolean; /** Files that came with the message; also *Try again* has them. */ attachments?: readonly TurnAttachment[] }

export type Delivery = { state: 'delivered' } | { state: 'refused'; code: 'question_gone' | 'not_running' | 'unsupported' | 'relay_failed'; words?: string }

export interface TurnEnd {
  outcome: RunOutcome
  reason?: string
  problem?: RunProblem
  usage?: Usage
}

/** Synchronous; the returned value is backpressure: while it is a promise, the adapter reads no more from its program or provider. */
export type Sink = (event: AgentEvent) => void | Promise<void>

export type AgentEvent =
  | { type: 'text'; delta: string }
  | { type: 'reasoning'; delta: string }
  /** The current answer text from `from` (UTF-16) on is replaced. */
  | { type: 'text.replace'; from: number; text: string }
  /** The agent begins a new message: later text opens a new row. */
  | { type: 'segment' }
  | { type: 'tool.started'; call: string; parent?: string; name: string; verb: ToolVerb; target?: string; title?: string; args?: unknown; locations?: ToolLocation[] }
  | { type: 'tool.changed'; call: string; change: Partial<Pick<ToolHead, 'title' | 'target' | 'args' | 'output' | 'cut' | 'diff' | 'locations'>> }
  | { type: 'tool.closed'; call: string; state: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'; result?: string; output?: string; diff?: string; exit?: number; cut?: boolean }
  /**
   * `question` is the adapter's handle; `runs/` mints the id. `call` names the open tool it belongs to. `nameless`: the agent itself has no id for it
   * and takes an answer for its oldest open question (spec/agents.md §3). `foreign` is kept beside the event for a re-attach.
   */
  | { type: 'question.raised'; question: string; call?: string; foreign?: string; nameless?: true; request: ApprovalRequest }
  | { type: 'clarify.raised'; question: string; foreign?: string; request: ClarifyRequest }
  | { type: 'secret.raised'; question: string; request: SecretRequest }
  | { type: 'question.withdrawn'; question: string; why: 'expired' | 'withdrawn' }
  /** The agent repeats a whole message that it has streamed as text, as reasoning, or not yet (the original's interim): it is shown once. */
  | { type: 'message'; text: string }
  | { type: 'steer.delivered'; steer: string; evidence: 'seen' | 'inferred' }
  | { type: 'plan'; entries: PlanEntry[] }
  | { type: 'usage'; usage: Usage }
  | { type: 'notice'; code: string; params?: Record<string, string | number>; words?: string }
  | { type: 'session.bound'; foreign: string; why: 'first' | 'resumed' | 'rotated' | 'reseeded' }
  | { type: 'turn.bound'; foreign: string; counters?: Record<string, number> }
  /** A turn that nobody submitted begins or ends; what is said between them belongs to it. */
  | { type: 'turn.began'; text: string; source: 'agent' | 'wakeup' }
  | { type: 'turn.ended'; end: TurnEnd }
  | { type: 'title'; text: string }
  /** Provider-shaped messages to keep with the turn: written in the same append as the rows they came from. */
  | { type: 'context'; messages: unknown[] }

/** Time as a parameter (law 13). Timers of one clock fire in order. */
export interface Timers {
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  after(ms: number, then: () => void): () => void
}
