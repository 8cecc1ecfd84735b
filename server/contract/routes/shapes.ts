import type { Attachment } from '../attachments'
import type { AgentRef } from '../session'
import type { TodoState } from '../todos'

/**
 * Shapes of the original's API (spec/features.md §2.3–2.6), as its clients expect them. Times are seconds since the epoch, with a fraction;
 * what this server does not know is null, 0 or an empty list, never missing.
 */
export interface CompactSession {
  session_id: string
  title: string
  display_title: string
  profile: string
  workspace: string
  model: string | null
  model_provider: string | null
  message_count: number
  created_at: number
  updated_at: number
  last_message_at: number
  pinned: boolean
  archived: boolean
  project_id: string | null
  parent_session_id: string | null
  session_source: string
  source_label: string | null
  is_cli_session: boolean
  read_only: boolean
  /** The live run; absent as null while none is, and while one is being stopped (a stopping run is never offered for attaching). */
  active_stream_id: string | null
  is_streaming: boolean
  /** Busy: a run is live, stopping included. A start would be refused. */
  agent_running: boolean
  /** Always false: a prompt stands in `messages` from its admission on. */
  has_pending_user_message: boolean
  pending_started_at: number | null
  /** Questions that wait for a person: `kind` of the oldest, `count` of all kinds. */
  attention: Attention | null
  /** Something has ended here that nobody has looked at. */
  unread: boolean
  /** Messages that wait in the queue. */
  queued: number
  /** New beside the old: who answers in this chat. */
  agent: AgentRef | null
}

export interface Attention { kind: 'approval' | 'clarify' | 'secret'; count: number; severity: 'warning' }

/** One message as the original's clients read it; made by `toMessages`. */
export type OriginalMessage = { role: string; content: unknown } & Record<string, unknown>

export interface FullSession extends CompactSession {
  messages: OriginalMessage[]
  tool_calls: unknown[]
  /** The newest plan of the chat, as the stream's `todo_state` tells it. */
  todo_state: TodoState | null
  pending_user_message: string | null
  pending_attachments: unknown[]
  context_length: number
  threshold_tokens: number
  last_prompt_tokens: number
  input_tokens: number
  output_tokens: number
  estimated_cost: number | null
  /** True when earlier messages were left out; `_messages_offset` says how many. */
  _messages_truncated: boolean
  _messages_offset: number
  _msg_limit_max: number
}

/** The head question of a session as the original's approval card reads it. */
export interface PendingApproval {
  approval_id: string
  session_id: string
  run_id: string
  command: string
  description: string
  pattern_key: string
  pattern_keys: string[]
  /** Kinds that this question offers, in the original's words: `once`, `session`, `always`, `deny`. */
  choices: string[]
  /** The agent's own label for the first choice of a kind, where it has one. */
  labels: Record<string, string>
  /** New beside the old: exactly what the agent offers. `id` is what `choice_id` takes. */
  offered: { id: string; kind: string; label?: string; consequence?: string }[]
  allow_permanent: boolean
  risk_level?: string
  /** After it the agent takes no answer any more; null: it waits as long as the run lives. */
  deadline: number | null
  requested_at: number
  pending_count: number
}

/** The head clarifying question of a session as the original's card reads it. Without a deadline `timeout_seconds` and `expires_at` are null. */
export interface PendingClarify {
  clarify_id: string
  session_id: string
  run_id: string
  kind: 'clarify'
  question: string
  /** Empty: only words of one's own are asked for. */
  choices_offered: string[]
  /** Whether words of one's own are taken. */
  free_text: boolean
  requested_at: number
  timeout_seconds: number | null
  expires_at: number | null
  pending_count: number
}

/** A secret that a run waits for. Its value is in no answer. */
export interface PendingSecret {
  secret_id: string
  session_id: string
  run_id: string
  kind: 'sudo' | 'secret'
  prompt: string
  /** Name of the environment variable it fills. */
  env_name: string | null
  requested_at: number
  timeout_seconds: number | null
  expires_at: number | null
  pending_count: number
}

/** A message that waits for its turn. */
export interface QueuedMessage {
  id: string
  message: string
  added_at: number
  /** `steer`: words that a run did not take any more. */
  by: 'person' | 'steer'
  /** It goes next, as soon as no run is live. */
  send?: true
  attachments?: Attachment[]
}

/** A file that was taken, as the original's clients read it, with what is ours beside it. `path` is absolute, on the server; agents are given it. */
export interface UploadedFile { filename: string; path: string; size: number; mime: string; is_image: boolean; id: string; digest: string }
