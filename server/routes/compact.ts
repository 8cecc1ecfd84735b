import type { Attention, CompactSession } from '../contract/routes'
import type { EntryFields, ListEntry } from '../contract/listing'

/** Milliseconds to the original's seconds. */
export function seconds(ms: number): number {
  return ms / 1000
}

/** An entry with what the store alone knows of it: up to where it was read. */
export type ReadEntry = EntryFields & Pick<ListEntry, 'read'>

/**
 * A list entry as the original's sidebar reads it. A run that is being stopped is busy, but never offered for attaching (settlement.md §2.7). `attention` is
 * what `attentionOf` says of its open questions.
 */
export function compactOf(entry: ReadEntry, attention: Attention | null): CompactSession {
  const attachable = entry.state === 'working' || entry.state === 'asking'
  return {
    session_id: entry.id,
    title: entry.title,
    display_title: entry.title,
    profile: entry.profile,
    workspace: entry.workspace,
    model: entry.model?.id ?? null,
    model_provider: entry.model?.provider ?? null,
    message_count: entry.count,
    created_at: seconds(entry.createdAt),
    updated_at: seconds(entry.lastAt),
    last_message_at: seconds(entry.lastAt),
    pinned: entry.pinned,
    archived: entry.archived,
    project_id: null,
    parent_session_id: null,
    session_source: 'webui',
    source_label: null,
    is_cli_session: false,
    read_only: false,
    active_stream_id: attachable ? (entry.run ?? null) : null,
    is_streaming: attachable,
    agent_running: entry.state !== 'idle',
    has_pending_user_message: false,
    pending_started_at: entry.since === undefined ? null : seconds(entry.since),
    attention,
    unread: (entry.settled ?? 0) > (entry.read ?? 0),
    queued: entry.queued ?? 0,
    agent: entry.agent,
  }
}
