import { isPathSafeId } from '../contract/ids'
import { entryOf } from '../contract/listing'
import { emptyTranscript, merge } from '../contract/fold'
import { originalUsage, toMessages, toToolCards } from '../contract/messages'
import type { OriginalMessage } from '../contract/routes'
import type { FullSession } from '../contract/routes'
import { lastRun } from '../contract/session'
import { todoStateOf } from '../contract/todos'
import type { Transcript } from '../contract/session'
import type { Store } from '../store/port'
import { compactOf } from './compact'
import { isOn } from './parse'
import { attentionOf, openIn } from './pending'
import { notFound } from './load'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Rows of one read, and the original's largest window of messages. */
const PAGE = 500

export interface MessageWindow { messages: boolean; limit?: number; before?: number }

/** A chat as the original's clients read it: the whole transcript, or a window of its messages. Costs the history; our page uses `changes`. */
export function fullSession({ store }: Pick<Parts, 'store'>): Handlers<'GET /api/session'> {
  return {
    async 'GET /api/session'({ input }) {
      if (!isPathSafeId(input.session_id)) throw notFound()
      const session = await readFull(store, input.session_id, {
        messages: input.messages === undefined || isOn(input.messages),
        ...(input.msg_limit === undefined ? {} : { limit: Math.min(Math.max(input.msg_limit, 1), PAGE) }),
        ...(input.msg_before === undefined ? {} : { before: input.msg_before }),
      })
      if (!session) throw notFound()
      return { session }
    },
  }
}

/** Null when the session is gone. */
export async function readFull(store: Pick<Store, 'window' | 'load'>, session: string, window: MessageWindow = { messages: true }): Promise<FullSession | null> {
  const value = await readTranscript(store, session)
  const entry = value && entryOf(value)
  if (!value || !entry) return null
  const state = await store.load(session)
  const all = window.messages ? toMessages(value) : []
  const end = Math.min(window.before ?? all.length, all.length)
  const offset = window.limit === undefined ? 0 : Math.max(0, end - window.limit)
  const messages = all.slice(offset, end)
  return {
    ...compactOf({ ...entry, ...(state?.read === undefined ? {} : { read: state.read }) }, attentionOf(openIn(value))),
    ...usageOf(value),
    messages,
    tool_calls: window.messages ? cardsWithin(value, all, offset, end) : [],
    todo_state: todoStateOf(value),
    // The prompt of a live turn stands in `messages` from its admission on: there is no second copy to reconcile (spec/log.md §3).
    pending_user_message: null,
    pending_attachments: [],
    threshold_tokens: 0,
    _messages_truncated: offset > 0,
    _messages_offset: offset,
    _msg_limit_max: PAGE,
  }
}

/** The whole value of the fold, window by window; what changes meanwhile is in the later read or comes by the stream. */
export async function readTranscript(store: Pick<Store, 'window'>, session: string): Promise<Transcript | null> {
  const value = emptyTranscript()
  const newest = await store.window(session, { limit: PAGE })
  if (!newest) return null
  merge(value, newest, 'window')
  while (value.from !== '') {
    const older = await store.window(session, { limit: PAGE, before: value.from })
    if (!older) return null
    const from = value.from
    merge(value, older, 'older')
    if (value.from === from) return value
  }
  return value
}

function cardsWithin(value: Transcript, all: OriginalMessage[], offset: number, end: number): unknown[] {
  return toToolCards(value, all)
    .filter((card) => card.assistant_msg_idx >= offset && card.assistant_msg_idx < end)
    .map((card) => ({ ...card, assistant_msg_idx: card.assistant_msg_idx - offset }))
}

/** The last turn's own numbers, 0 where nothing is known, as the original has it. */
function usageOf(value: Transcript): Pick<FullSession, 'context_length' | 'last_prompt_tokens' | 'input_tokens' | 'output_tokens' | 'estimated_cost'> {
  const turn = [...value.turns.values()].sort((a, b) => (a.pos < b.pos ? -1 : 1)).pop()
  const usage = originalUsage((turn && lastRun(turn)?.usage) ?? {})
  return {
    context_length: usage.context_length ?? 0,
    last_prompt_tokens: usage.last_prompt_tokens ?? 0,
    input_tokens: usage.input_tokens ?? 0,
    output_tokens: usage.output_tokens ?? 0,
    estimated_cost: usage.estimated_cost ?? null,
  }
}
