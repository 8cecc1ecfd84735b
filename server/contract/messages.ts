import { begin, boundedArguments } from './arguments'
import { endingOf } from './ending'
import type { Row, ToolRow } from './rows'
import { lastRun, type Run, type Transcript, type Turn, type Usage } from './session'
import type { OriginalMessage } from './routes/shapes'

/**
 * The original's messages (settlement.md §1.3, features.md §5.3), a pure projection of the rows for its clients and for exports.
 *
 * A turn becomes its user message and, for each round of the agent, one assistant message (reasoning, text, tool calls) followed by the results of its tools. `id` is
 * the `n` of the message's first row, so it is known at birth and never changes; a round that begins with a tool call takes that call's number, and the result of this
 * one call has none. `timestamp` is seconds. A word that a run took is a user message of `display_kind` `steer`; one that was given back is told where it is sent next. A
 * clarifying question is an assistant's line, its answer a user's line (settlement.md §7.6), without an id, since one row stands for both. `attachments` are names of files. Notices, plans, permissions
 * and secrets are shown by rows only. A turn that did not complete ends with one `_error` message made from it, without an id, since no row stands for it.
 */
export function toMessages(value: Transcript): OriginalMessage[] {
  const messages: OriginalMessage[] = []
  for (const { turn, rows } of turnsInOrder(value)) {
    const parts: Part[] = []
    for (const row of rows) {
      if (row.kind === 'user') messages.push(userMessage(row))
      else addToParts(parts, row)
    }
    const last = turn && lastRun(turn)
    const lastRound = parts.findLast((part) => !Array.isArray(part))
    for (const part of parts) messages.push(...(Array.isArray(part) ? part : roundMessages(part, part === lastRound ? last : undefined)))
    const error = last && errorMessage(last)
    if (error) messages.push(error)
  }
  return messages
}

/** One answer of the model: what it thought and said, and the tools that it called then. */
interface Round { first: Row; thought: string; said: string; answered: boolean; tools: ToolRow[] }
/** A round, or lines of a person and to a person between two rounds. */
type Part = Round | OriginalMessage[]

function turnsInOrder(value: Transcript): { turn: Turn | undefined; rows: Row[] }[] {
  const turns: { id: string; turn: Turn | undefined; rows: Row[] }[] = []
  for (const id of value.order) {
    const row = value.rows.get(id)!
    const last = turns[turns.length - 1]
    if (last?.id === row.turn) last.rows.push(row)
    else turns.push({ id: row.turn, turn: value.turns.get(row.turn), rows: [row] })
  }
  return turns
}

/** A thought after words, words after words, and anything but a tool after tools begin a new round; so does what follows lines between rounds. */
function addToParts(parts: Part[], row: Row): void {
  if (row.kind !== 'thought' && row.kind !== 'answer' && row.kind !== 'tool') {
    const lines = linesOf(row)
    if (lines.length > 0) parts.push(lines)
    return
  }
  const last = parts[parts.length - 1]
  let round = Array.isArray(last) ? undefined : last
  if (!round || (row.kind !== 'tool' && (round.answered || round.tools.length > 0))) {
    round = { first: row, thought: '', said: '', answered: false, tools: [] }
    parts.push(round)
  }
  if (row.kind === 'tool') round.tools.push(row)
  else if (row.kind === 'thought') round.thought += (round.thought && row.text ? '\n\n' : '') + row.text
  else {
    round.said = row.text
    round.answered = true
  }
}

function linesOf(row: Row): OriginalMessage[] {
  if (row.kind === 'steer') {
    return row.steer.state === 'delivered' ? [{ role: 'user', content: row.text, timestamp: row.at / 1000, id: row.n, display_kind: 'steer' }] : []
  }
  if (row.kind !== 'question' || !row.clarify) return []
  const { clarify } = row
  const question: OriginalMessage = { role: 'assistant', content: clarify.question, timestamp: row.at / 1000, id: row.n, _source: 'clarify', ...(clarify.choices.length > 0 ? { choices_offered: clarify.choices } : {}) }
  return clarify.state === 'answered' ? [question, { role: 'user', content: clarify.answer, timestamp: clarify.answeredAt / 1000, _source: 'clarify' }] : [question]
}

function userMessage(row: Row & { kind: 'user' }): OriginalMessage {
  return { role: 'user', content: row.text, timestamp: row.at / 1000, id: row.n, ...(row.source === 'person' ? {} : { _source: row.source }), ...(row.attachments ? { attachments: row.attachments.map(({ name }) => name) } : {}) }
}

/** `last` is the turn's last run, given for its last round only. */
function roundMessages(round: Round, last: Run | undefined): OriginalMessage[] {
  const { first, tools } = round
  const assistant: OriginalMessage = { role: 'assistant', content: round.said, timestamp: first.at / 1000, id: first.n }
  if (round.thought) assistant.reasoning = round.thought
  if (tools.length > 0) {
    assistant.tool_calls = tools.map(({ tool }) => ({ id: tool.call, type: 'function', function: { name: tool.name, arguments: JSON.stringify(tool.args ?? {}) } }))
  }
  if (last?.state === 'settled') Object.assign(assistant, figures(last), last.outcome === 'completed' ? {} : { _partial: true })
  return [assistant, ...tools.filter(({ state }) => state !== 'live').map((row) => toolMessage(row, row.id === first.id))]
}

function toolMessage(row: ToolRow, numberless: boolean): OriginalMessage {
  const { tool, state } = row
  return {
    role: 'tool', tool_call_id: tool.call, name: tool.name, content: tool.result ?? tool.output ?? '', timestamp: (row.at + (row.duration ?? 0)) / 1000,
    ...(numberless ? {} : { id: row.n }), ...(state === 'done' ? {} : { is_error: true, _state: state }),
  }
}

function errorMessage(run: Run): OriginalMessage | null {
  const ending = endingOf(run)
  if (!ending) return null
  return {
    role: 'assistant', content: ending.hint ? `${ending.message} ${ending.hint}` : ending.message, timestamp: (run.settledAt ?? run.startedAt) / 1000, _error: true, type: ending.type,
    ...(ending.details ? { provider_details: ending.details, provider_details_label: 'Provider details' } : {}), ...(run.timings ? { _turnDuration: run.timings.total / 1000 } : {}),
  }
}

function figures(run: Run): Record<string, unknown> {
  return {
    ...(run.usage ? { _turnUsage: originalUsage(run.usage) } : {}), ...(run.timings ? { _turnDuration: run.timings.total / 1000 } : {}),
    ...(run.timings?.firstToken === undefined ? {} : { _firstTokenMs: run.timings.firstToken }), ...(run.model ? { _usedModel: run.model.id } : {}),
  }
}

/** A turn's own numbers under the original's names; unknown ones are left out. */
export function originalUsage(usage: Usage): Record<string, number> {
  const named: [string, number | undefined][] = [
    ['input_tokens', usage.input], ['output_tokens', usage.output], ['cache_read_tokens', usage.cached], ['reasoning_tokens', usage.reasoning],
    ['estimated_cost', usage.cost], ['last_prompt_tokens', usage.contextUsed], ['context_length', usage.contextSize],
  ]
  return Object.fromEntries(named.filter((pair): pair is [string, number] => pair[1] !== undefined))
}

/** Bounds of a card: its result, and how many arguments it keeps (settlement.md §0). */
const SNIPPET = 4000
const SUMMARY_KEYS = 6

/** A card of the original's `tool_calls` list; `assistant_msg_idx` is the index of the message that called. */
export interface ToolCard { name: string; snippet: string; tid: string; assistant_msg_idx: number; args: Record<string, unknown>; done: boolean; is_error?: boolean; duration?: number }

/** The flat list of tool cards beside the messages (settlement.md §1.2). `messages` are all that `toMessages` made of the value: calls stand in them in the order of their rows. */
export function toToolCards(value: Transcript, messages: OriginalMessage[]): ToolCard[] {
  const callers = messages.flatMap((message, i) => ((message.tool_calls ?? []) as unknown[]).map(() => i))
  const rows = value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind === 'tool')
  return rows.map(({ tool, state, duration }, i) => ({
    name: tool.name, snippet: begin(tool.result ?? tool.output ?? '', SNIPPET), tid: tool.call, assistant_msg_idx: callers[i]!, args: boundedArguments(tool.args, SUMMARY_KEYS),
    done: state !== 'live', ...(state === 'done' || state === 'live' ? {} : { is_error: true }), ...(duration === undefined ? {} : { duration: duration / 1000 }),
  }))
}
