import type { Attachment } from '../contract/attachments'
import type { Queue } from '../contract/queue'
import type { AgentKind, SessionHead, ModelRef } from '../contract/session'
import type { ProfileContext } from '../profiles/context'

/** What routes may ask of sessions and runs. Every promise resolves after the commit; refusals are `Refusal`s from the contract and change nothing. */
export interface Runs {
  /** A new chat. Same key and body: the chat that was made then. */
  create(profile: ProfileContext, input: NewInput): Promise<SessionHead>
  /** Admission: `turn.admitted` + `run.started` in one append, then the agent. Same key and body: the stored receipt. */
  start(profile: ProfileContext, input: StartInput): Promise<Started>
  /** `cancelled`: the run is stopping, and ends as cancelled. After a restart of ours the answer waits until the agent has said whether the turn goes on. */
  stop(profile: ProfileContext, run: string, by: 'person' | 'server'): Promise<{ cancelled: boolean; session: string | null }>
  /** `choice`: a choice id that this question offers, or a kind, of which the first offered is taken. Anything else is `invalid_choice` and changes nothing. */
  decide(profile: ProfileContext, input: { session: string; approval?: string; choice: string }): Promise<{ approval: string; choice: string }>
  /** Answers a clarifying question; without an id the oldest open one. One that is over is `question_gone`. */
  answer(profile: ProfileContext, input: { session: string; clarify?: string; text: string }): Promise<{ clarify: string }>
  /** Hands a secret to the agent; null refuses it. The value is kept nowhere. */
  give(profile: ProfileContext, input: { session: string; secret: string; value: string | null }): Promise<{ secret: string; given: boolean }>
  /** Auto-approve of a session: open questions are answered with their *once* first, then the switch commits; a relay that fails leaves it as it was. */
  approveAll(profile: ProfileContext, session: string, enabled: boolean): Promise<SessionHead>
  /** A word into the running turn. Accepted: durable, and it will be delivered or given back. */
  steer(profile: ProfileContext, input: { session: string; text: string; key?: string; bodyHash?: string }): Promise<Steered>
  queue(profile: ProfileContext, session: string): Promise<QueueView>
  enqueue(profile: ProfileContext, input: { session: string; text: string; attach?: Attach; before?: string; key?: string; bodyHash?: string }): Promise<QueueView & { item: string }>
  /** `attach` absent: the item keeps its files. */
  changeQueued(profile: ProfileContext, input: { session: string; item: string; text: string; attach?: Attach }): Promise<QueueView>
  moveQueued(profile: ProfileContext, input: { session: string; item: string; before?: string }): Promise<QueueView>
  combineQueued(profile: ProfileContext, input: { session: string; items: string[] }): Promise<QueueView>
  removeQueued(profile: ProfileContext, input: { session: string; items: string[] }): Promise<QueueView>
  /** Sends one item as soon as no run is live; `stop`: stops the live run first. */
  sendQueued(profile: ProfileContext, input: { session: string; item: string; stop?: boolean; /** The run that the person wanted stopped: another one, that began meanwhile, goes on. */ run?: string }): Promise<QueueView>
  rename(profile: ProfileContext, session: string, title: string): Promise<SessionHead>
  /** Model, effort and/or workspace of later turns. `lookUp` as in `StartInput`. */
  update(profile: ProfileContext, session: string, change: { model?: ModelRef | null; effort?: string | null; workspace?: string; lookUp?: StartInput['lookUp'] }): Promise<SessionHead>
  /** Stops a live run first, then deletes. */
  remove(profile: ProfileContext, session: string): Promise<void>
  /** Settles what a dead process left, ends its tool processes; before the server listens. */
  recover(): Promise<{ runs: number; processes: number }>
  /** Stop admitting, interrupt running turns, settle them, end agents. */
  drain(): Promise<void>
  /** Live runs, for `/health`. */
  live(): { session: string; run: string; startedAt: number }[]
}

/** `code` as the original names it (settlement.md §6.1). `run`: the live run, where there is one. */
export type Steered =
  | { accepted: true; run: string; steer: string }
  | { accepted: false; code: 'no_cached_agent' | 'agent_lacks_steer' | 'session_not_found' | 'not_running' | 'stream_dead' | 'steer_error' | 'gateway_steer_queued'; run?: string }

/** Finds the files that a request names, and keeps them: called only when no receipt answers. Refuses with `attachment_gone`. */
export type Attach = () => Promise<readonly Attachment[]>

/** `paused`: it waits for the person because the last run did not complete. */
export interface QueueView { queue: Queue; paused: boolean }

export interface NewInput extends NewChoice {
  id?: string
  title?: string
  workspace?: string
  key?: string
  /** As in `StartInput`. */
  bodyHash?: string
  /** Model and agent where they must be looked up: called only when no receipt answers (law 7: what is connected now changes no receipt). */
  lookUp?: () => Promise<NewChoice>
}

export interface NewChoice { model?: ModelRef | null; effort?: string | null; /** Absent: the one that new chats use at its first turn. */ agent?: AgentKind }

export interface StartInput {
  session: string
  /** Exactly one of the two; with files it may be blank. */
  text?: string
  attach?: Attach
  /** A turn id: *Try again*. */
  retry?: string
  /** The row of a message of a person: this one is sent in its place, and everything from there on leaves in the same append. */
  replaceFrom?: string
  key?: string
  /** SHA-256 of the validated body without `key`, canonical JSON; with `key` only. */
  bodyHash?: string
  model?: ModelRef | null
  /** Null: the agent's own measure. */
  effort?: string | null
  /** Model and effort where they must be looked up, for the chat's agent: called only when no receipt answers. */
  lookUp?: (agent: AgentKind, now: SessionHead) => Promise<{ model?: ModelRef | null; effort?: string | null }>
  workspace?: string
}

/** The receipt's body, too. */
export interface Started { run: string; turn: string; session: string; title: string; startedAt: number; model: ModelRef | null }
