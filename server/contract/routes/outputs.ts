import type { AgentKind } from '../session'
import type { Changes, ListChanges } from '../wire'
import type { ModelsAnswer, ModelsStatus, ProbeAnswer, ProvidersAnswer, SetupAnswer } from '../models'
import type { CompactSession, FullSession, PendingApproval } from './shapes'

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
export interface AgentHealth { kind: AgentKind; state: 'ready' | 'unavailable'; name?: string; version?: string; capabilities: string[]; model?: { provider: string; id: string } | null; code?: string; words?: string; hint?: string }

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

/** `stale_cleared`: nothing was pending at all, so the card may go. */
export interface ApprovalAnswered { ok: boolean; choice: string; stale_cleared?: boolean }

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
  'GET /api/approval/pending': { pending: PendingApproval | null; pending_count: number }
  'POST /api/approval/respond': ApprovalAnswered
  /** `text/event-stream`: `Frames` of `wire.ts`. */
  'GET /api/events': never
  'GET /api/models': ModelsAnswer
  'GET /api/providers': ProvidersAnswer
  'POST /api/providers/delete': { ok: true; provider: string }
  'GET /api/onboarding/status': ModelsStatus
  'POST /api/onboarding/probe': ProbeAnswer
  'POST /api/onboarding/setup': SetupAnswer
  'GET /api/openapi.json': Record<string, unknown>
  'POST /api/csp-report': null
}
