import type { AgentRef } from '../session'

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
  attention: { kind: 'approval'; count: number; severity: 'warning' } | null
  /** New beside the old: who answers in this chat. */
  agent: AgentRef | null
}

/** One message as the original's clients read it; made by `toMessages`. */
export type OriginalMessage = { role: string; content: unknown } & Record<string, unknown>

export interface FullSession extends CompactSession {
  messages: OriginalMessage[]
  tool_calls: unknown[]
  todo_state: null
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
  run_id: string
  command: string
  description: string
  pattern_key: string
  pattern_keys: string[]
  /** Kinds that this question offers, in the original's words. */
  choices: string[]
  allow_permanent: boolean
  risk_level?: string
  pending_count: number
}
