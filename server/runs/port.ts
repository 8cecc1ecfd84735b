import type { SessionHead, ModelRef } from '../contract/session'
import type { ProfileContext } from '../profiles/context'

/** What routes may ask of sessions and runs. Every promise resolves after the commit; refusals are `Refusal`s from the contract and change nothing. */
export interface Runs {
  /** A new chat. Same key and body: the chat that was made then. */
  create(profile: ProfileContext, input: NewInput): Promise<SessionHead>
  /** Admission: `turn.admitted` + `run.started` in one append, then the agent. Same key and body: the stored receipt. */
  start(profile: ProfileContext, input: StartInput): Promise<Started>
  stop(profile: ProfileContext, run: string, by: 'person' | 'server'): Promise<{ cancelled: boolean; session: string | null }>
  decide(profile: ProfileContext, input: { session: string; approval?: string; choice: 'once' | 'deny' }): Promise<{ approval: string; choice: string }>
  rename(profile: ProfileContext, session: string, title: string): Promise<SessionHead>
  /** Model and/or workspace of later turns. */
  update(profile: ProfileContext, session: string, change: { model?: ModelRef | null; workspace?: string }): Promise<SessionHead>
  /** Stops a live run first, then deletes. */
  remove(profile: ProfileContext, session: string): Promise<void>
  /** Settles what a dead process left, ends its tool processes; before the server listens. */
  recover(): Promise<{ runs: number; processes: number }>
  /** Stop admitting, interrupt running turns, settle them, end agents. */
  drain(): Promise<void>
  /** Live runs, for `/health`. */
  live(): { session: string; run: string; startedAt: number }[]
}

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

export interface NewChoice { model?: ModelRef | null; agent?: 'scripted' | 'embedded' }

export interface StartInput {
  session: string
  /** Exactly one of the two. */
  text?: string
  /** A turn id: *Try again*. */
  retry?: string
  key?: string
  /** SHA-256 of the validated body without `key`, canonical JSON; with `key` only. */
  bodyHash?: string
  model?: ModelRef | null
  /** The model where it must be looked up: called only when no receipt answers. */
  lookUp?: () => Promise<ModelRef | null>
  workspace?: string
}

/** The receipt's body, too. */
export interface Started { run: string; turn: string; session: string; title: string; startedAt: number; model: ModelRef | null }
