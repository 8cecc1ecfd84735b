import type { AgentInfo, AgentsAnswer } from '../agents'
import type { AgentKind } from '../session'
import type { Changes, ListChanges } from '../wire'
import type { ModelsAnswer, ModelsStatus, ProbeAnswer, ProvidersAnswer, SetupAnswer } from '../models'
import type { CompactSession, FullSession, PendingApproval, PendingClarify, PendingSecret, QueuedMessage, UploadedFile } from './shapes'

/** What `GET /health` says. `checks` only with `deep=1`. */
export interface Health {
  status: 'ok' | 'degraded'
  /** Identity of this server's database. */
  store: string
  version: string
  sessions: number
  active_streams: number
  active_runs: number
  uptime_seconds: number
  /** Seconds since the epoch. */
  server_started_at: number
  agents: AgentHealth[]
  /** Process memory in bytes and numbers of the store, for people and the bench. */
  memory: number
  checks?: { store: { ok: boolean; words: string }; commits: number; last_commit_ms: number; events: number }
}
export interface AgentHealth { kind: AgentKind; state: AgentInfo['state']; name: string; version?: string; capabilities: string[]; model?: { provider: string; id: string } | null; code?: string; words?: string; hint?: string }

export interface SessionStatus extends CompactSession { input_tokens: number; output_tokens: number; estimated_cost: number | null; server_time: number }

export interface ChatStarted {
  /** The run's id: what stream, status and cancel take. */
  stream_id: string
  session_id: string
  turn_id: string
  /** Seconds since the epoch. */
  pending_started_at: number
  title: string
  effective_model?: string
  effective_model_provider?: string
}

export interface StreamStatus { active: boolean; stream_id: string; session_id: string; replay_available: boolean; state: 'running' | 'stopping' | 'settled'; outcome?: string }

/**
 * `ok: false`: this question is not open, but another one is. `stale_cleared`: nothing was pending at all, so the card may go. `choice`: as it was asked;
 * `choice_id`: the choice of the agent's that was taken.
 */
export interface ApprovalAnswered { ok: boolean; choice: string; choice_id?: string; stale_cleared?: boolean; yolo_enabled?: boolean }

/** `fallback` of a steer that was not accepted, as the original names it (settlement.md §6.1). */
export type SteerFallback = 'no_cached_agent' | 'agent_lacks_steer' | 'session_not_found' | 'not_running' | 'stream_dead' | 'steer_error' | 'gateway_steer_queued'
/** `stream_id`: the live run, null where there is none. `steer_id`: of the row that says what became of it. */
export interface SteerAnswer { accepted: boolean; fallback?: SteerFallback; stream_id: string | null; steer_id?: string }

/** `paused`: it waits for the person, because the last run did not complete. `item`: the one that was added. */
export interface QueueAnswer { items: QueuedMessage[]; paused: boolean; item?: string }

/** One entry for each route of the table. */
export interface Outputs {
  'GET /health': Health
  'GET /api/sessions': {
    sessions: CompactSession[]; sidebar_reference_sessions: CompactSession[]; cli_count: number; archived_count: number; webui_session_count: number; cli_session_count: number
    active_profile: string; other_profile_count: number; server_time: number; server_tz: string
  }
  'GET /api/sessions/changes': ListChanges
  'GET /api/session': { session: FullSession }
  'GET /api/session/changes': Changes
  'GET /api/session/status': SessionStatus
  'POST /api/session/new': { session: CompactSession }
  'POST /api/session/rename': { ok: true; session: CompactSession }
  'POST /api/session/update': { ok: true; session: CompactSession }
  'POST /api/session/delete': { ok: true; state_db_cleanup_failed: boolean }
  'POST /api/chat/start': ChatStarted
  /** `text/event-stream`: names and payloads of spec/features.md §3.2. */
  'GET /api/chat/stream': never
  'GET /api/chat/stream/status': StreamStatus
  'GET /api/chat/cancel': { ok: true; cancelled: boolean; stream_id: string; session_id: string | null }
  'POST /api/chat/steer': SteerAnswer
  'GET /api/chat/queue': QueueAnswer
  'POST /api/chat/queue': QueueAnswer
  'POST /api/chat/queue/change': QueueAnswer
  'POST /api/chat/queue/move': QueueAnswer
  'POST /api/chat/queue/combine': QueueAnswer
  'POST /api/chat/queue/remove': QueueAnswer
  'POST /api/chat/queue/send': QueueAnswer
  /** Of one file itself; of several `files` and `count`. */
  'POST /api/upload': UploadedFile | { files: UploadedFile[]; count: number }
  /** The bytes. */
  'GET /api/attachment': never
  'GET /api/approval/pending': { pending: PendingApproval | null; pending_count: number }
  /** `text/event-stream`: `initial` and `approval`, both with what `pending` answers. */
  'GET /api/approval/stream': never
  'POST /api/approval/respond': ApprovalAnswered
  'GET /api/session/yolo': { yolo_enabled: boolean }
  'POST /api/session/yolo': { ok: true; yolo_enabled: boolean }
  'GET /api/clarify/pending': { pending: PendingClarify | null; pending_count: number }
  /** `text/event-stream`: `initial` and `clarify`, both with what `pending` answers. */
  'GET /api/clarify/stream': never
  'POST /api/clarify/respond': { ok: true; response: string; clarify_id: string }
  'GET /api/secret/pending': { pending: PendingSecret | null; pending_count: number }
  /** `given`: false when it was refused. */
  'POST /api/secret/respond': { ok: true; given: boolean }
  'POST /api/session/read': { ok: true }
  /** `text/event-stream`: `initial`, `server_turn_started`, `session-updated` (features.md §3.3). */
  'GET /api/session/stream': never
  /** `text/event-stream`: `sessions_changed` (features.md §3.3). */
  'GET /api/sessions/events': never
  /** `text/event-stream`: the frames of all runs, and `session_snapshot` (features.md §3.3). */
  'GET /api/sessions/{session_id}/events': never
  /** `text/event-stream`: `Frames` of `wire.ts`. */
  'GET /api/events': never
  'GET /api/models': ModelsAnswer
  'GET /api/providers': ProvidersAnswer
  'POST /api/providers/delete': { ok: true; provider: string }
  'GET /api/onboarding/status': ModelsStatus
  'POST /api/onboarding/probe': ProbeAnswer
  'POST /api/onboarding/setup': SetupAnswer
  'GET /api/agents': AgentsAnswer
  'POST /api/agents/choose': AgentsAnswer
  'POST /api/agents/restart': AgentsAnswer
  'GET /api/agents/log': { kind: AgentKind; log: string }
  'GET /api/openapi.json': Record<string, unknown>
  'POST /api/csp-report': null
}
