import type { ProblemCode } from '../problems'
import type { RouteName } from './table'

/** Words and problem codes of each route, for the OpenAPI document and its readers. Every route may also answer the codes of `ANY_ROUTE`. */
export interface RouteDetail { summary: string; problems: ProblemCode[] }

/** What the edge in front of every route may answer. */
export const ANY_ROUTE: ProblemCode[] = ['bad_request', 'misdirected_host', 'method_not_allowed', 'length_required', 'body_too_large', 'internal', 'store_failed', 'shutting_down', 'overloaded']

const owned: ProblemCode[] = ['session_not_found', 'session_profile_mismatch']
const acts: ProblemCode[] = ['cross_origin', 'invalid_json']

export const details: Record<RouteName, RouteDetail> = {
  'GET /health': { summary: 'Whether the server is well, which store it serves, and what its agents can do. `deep=1` also checks the database.', problems: [] },
  'GET /api/sessions': { summary: 'The list of chats, as the original’s sidebar reads it.', problems: [] },
  'GET /api/sessions/changes': { summary: 'List entries: the newest, those before an id, or what changed since a cursor.', problems: [] },
  'GET /api/session': { summary: 'One chat with its messages, as the original’s clients read it.', problems: owned },
  'GET /api/session/changes': { summary: 'Rows and turns of a chat: the newest window, an older one, or what changed since a cursor.', problems: owned },
  'GET /api/session/status': { summary: 'Whether a run is live in a chat, and which.', problems: owned },
  'POST /api/session/new': { summary: 'Makes a chat.', problems: [...acts, 'workspace_missing', 'workspace_outside', 'model_unknown', 'agent_unavailable', 'key_reused', 'key_mismatch', 'store_full'] },
  'POST /api/session/rename': { summary: 'Gives a chat a title.', problems: [...acts, ...owned, 'store_full'] },
  'POST /api/session/update': { summary: 'Changes model, effort or folder of the turns to come.', problems: [...acts, ...owned, 'workspace_missing', 'workspace_outside', 'model_unknown', 'store_full'] },
  'POST /api/session/delete': { summary: 'Stops a live run, then deletes the chat.', problems: [...acts, ...owned, 'store_full'] },
  'POST /api/chat/start': {
    summary: 'Sends a message (`message`), also in the place of an earlier one of a person, with which everything after it leaves (`replace_from`, its row), or tries a turn again (`retry`). With a key (`key` or `Idempotency-Key`) the same request answers the same receipt.',
    problems: [...acts, ...owned, 'message_required', 'session_busy', 'key_reused', 'key_mismatch', 'nothing_to_retry', 'nothing_to_edit', 'no_model', 'agent_unavailable', 'model_unknown', 'workspace_missing', 'workspace_outside', 'attachment_gone', 'store_full'],
  },
  'GET /api/chat/stream': { summary: 'Events of one run, from its start or after a cursor, until its end.', problems: ['stream_not_found', ...owned] },
  'GET /api/chat/stream/status': { summary: 'Whether a run is live and can be replayed.', problems: ['stream_not_found', ...owned] },
  'GET /api/chat/cancel': { summary: 'Stops a run; what it wrote stays.', problems: [...acts, ...owned, 'relay_failed'] },
  'POST /api/chat/steer': { summary: 'A word into the running turn. `accepted`: it is kept, and will be delivered or given back; else `fallback` says why not.', problems: [...acts, ...owned, 'message_required', 'key_reused', 'key_mismatch', 'store_full'] },
  'GET /api/chat/queue': { summary: 'Messages of a chat that wait for their turn, in the order in which they will be sent.', problems: owned },
  'POST /api/chat/queue': { summary: 'Adds a message, at the end or `before` another. With a key the same request answers the same receipt.', problems: [...acts, ...owned, 'message_required', 'queue_full', 'attachment_gone', 'key_reused', 'key_mismatch', 'store_full'] },
  'POST /api/chat/queue/change': { summary: 'Gives a waiting message another text.', problems: [...acts, ...owned, 'message_required', 'queue_item_not_found', 'attachment_gone', 'store_full'] },
  'POST /api/chat/queue/move': { summary: 'Puts a waiting message before another, or at the end.', problems: [...acts, ...owned, 'queue_item_not_found', 'store_full'] },
  'POST /api/chat/queue/combine': { summary: 'Joins waiting messages into the first of them.', problems: [...acts, ...owned, 'queue_item_not_found', 'store_full'] },
  'POST /api/chat/queue/remove': { summary: 'Removes waiting messages.', problems: [...acts, ...owned, 'queue_item_not_found', 'store_full'] },
  'POST /api/chat/queue/send': { summary: 'Sends a waiting message as soon as no run is live; `stop` stops the live run first; with `run` only that one.', problems: [...acts, ...owned, 'queue_item_not_found', 'relay_failed', 'store_full'] },
  'POST /api/upload': { summary: 'Takes a file for a message to come: `multipart/form-data` with `session_id` and `file`, 20 MB in all. The answer stands once the bytes are durable.', problems: [...acts, ...owned, 'length_required', 'body_too_large', 'store_full'] },
  'GET /api/attachment': { summary: 'The bytes of a file that was given with a message; only pictures are shown in place.', problems: [...owned, 'attachment_not_found'] },
  'GET /api/approval/pending': { summary: 'The oldest open question of a chat, and how many there are.', problems: owned },
  'GET /api/approval/stream': { summary: 'Events `initial` and `approval` with what `pending` answers, on every change of it.', problems: owned },
  'POST /api/approval/respond': {
    summary: 'Answers a question by a kind that it offers (`choice`: `once`, `session`, `always`, `deny`) or by the id of a choice (`choice_id`). Without `approval_id` the oldest. `yolo` turns auto-approve on as well.',
    problems: [...acts, ...owned, 'invalid_choice', 'approval_not_found', 'question_gone', 'relay_failed', 'store_full'],
  },
  'GET /api/session/yolo': { summary: 'Whether every question of a chat is answered with its *once*.', problems: owned },
  'POST /api/session/yolo': { summary: 'Turns auto-approve of a chat on or off. On: open questions are answered first; if that fails it stays off.', problems: [...acts, ...owned, 'relay_failed', 'store_full'] },
  'GET /api/clarify/pending': { summary: 'The oldest open clarifying question of a chat, and how many there are.', problems: owned },
  'GET /api/clarify/stream': { summary: 'Events `initial` and `clarify` with what `pending` answers, on every change of it.', problems: owned },
  'POST /api/clarify/respond': {
    summary: 'Answers a clarifying question (`response`, `answer` or `choice`). One that is over answers 409 with `stale: true`.',
    problems: [...acts, ...owned, 'invalid_choice', 'question_gone', 'relay_failed', 'store_full'],
  },
  'GET /api/secret/pending': { summary: 'The oldest secret that a run of the chat waits for, and how many there are.', problems: owned },
  'POST /api/secret/respond': {
    summary: 'Hands a secret on to the agent (`value`), or refuses it (`cancel`). It is kept nowhere: no key is taken and no receipt is left.',
    problems: [...acts, ...owned, 'question_not_found', 'question_gone', 'relay_failed', 'store_full'],
  },
  'POST /api/session/read': { summary: 'A person has seen the chat up to `seq`. A mark never goes back.', problems: [...acts, ...owned, 'store_full'] },
  'GET /api/session/stream': {
    summary: 'What begins in a chat by itself: `initial`, `server_turn_started`, and `session-updated` for a reader whose `known_count` is behind.', problems: owned,
  },
  'GET /api/sessions/{session_id}/events': { summary: 'Events of all runs of a chat, behind a cursor `run:n`; `session_snapshot` with the whole chat where it cannot be honoured.', problems: owned },
  'GET /api/sessions/events': { summary: 'The list has changed (`sessions_changed`, with a reason); a slow reader gets the newest alone.', problems: [] },
  'GET /api/events': { summary: 'Everything that changes, from a cursor on: list entries, and the events of one open chat.', problems: owned },
  'GET /api/models': { summary: 'Models to choose from: those of `agent`, by default of the one that new chats use, by connection or provider, with the efforts that each can be told.', problems: [] },
  'GET /api/providers': { summary: 'Connections to model servers; keys are never returned.', problems: [] },
  'POST /api/providers/delete': { summary: 'Removes a connection given in the page.', problems: [...acts, 'not_found', 'connection_invalid'] },
  'GET /api/onboarding/status': { summary: 'What is connected, and what this machine offers.', problems: [] },
  'POST /api/onboarding/probe': { summary: 'Tries a connection without keeping it.', problems: [...acts, 'connection_invalid'] },
  'POST /api/onboarding/setup': { summary: 'Keeps a connection and makes its model the default.', problems: [...acts, 'connection_invalid', 'model_unknown'] },
  'GET /api/agents': { summary: 'The agents of this server: state, version, what each can do, and which one new chats use.', problems: [] },
  'POST /api/agents/choose': { summary: 'Which agent new chats use; `kind` null gives the choice back to the default, which is Hermes Agent where it is found.', problems: [...acts, 'agent_unavailable', 'store_full'] },
  'POST /api/agents/restart': { summary: 'Ends the program of an agent and starts it again; its live runs end as interrupted.', problems: [...acts, 'agent_unavailable'] },
  'GET /api/agents/log': { summary: 'The last 64 kB of what the program of an agent wrote.', problems: ['agent_unavailable'] },
  'GET /api/openapi.json': { summary: 'This document.', problems: [] },
  'POST /api/csp-report': { summary: 'Takes a browser’s report of something that the content policy stopped.', problems: [] },
}
