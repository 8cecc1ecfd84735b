import type { StoredMessage } from '../../agents/port'
import type { Draft } from '../../contract/events'
import { IMPORT_LIMIT, type ImportBatch } from '../../contract/fold'
import { fromMessages, type FromParts } from '../../contract/from-messages'
import type { OriginalMessage } from '../../contract/routes/shapes'
import type { AgentKind } from '../../contract/session'

/** One append of an import: its event, its batch, and which of our rows shows which message, by index. The `seq` of all of it is the ledger's to give. */
export interface Import { draft: Draft & { type: 'rows.imported' }; batch: ImportBatch; shows: { index: number; row: string }[] }

/**
 * Messages of a foreign store as rows of ours, in appends of at most `IMPORT_LIMIT` rows; rows of one turn may stand in several. `replaced` leaves with the first of them. Pure but for what
 * `parts` gives.
 */
export function importsOf(messages: readonly StoredMessage[], source: AgentKind, replaced: readonly { id: string; counted: boolean }[], parts: Omit<FromParts, 'seq' | 'describe'>): Import[] {
  const calls = new Map(messages.flatMap((message) => (message.role === 'assistant' ? message.calls.map((call) => [call.call, call] as const) : [])))
  const made = fromMessages(messages.map(originalOf), {
    ...parts, seq: 0,
    describe: (call) => {
      const { verb = 'other' as const, target } = calls.get(call) ?? {}
      return { verb, ...(target === undefined ? {} : { target }) }
    },
  })
  const imports: Import[] = []
  for (let at = 0; at < made.rows.length; at += IMPORT_LIMIT) {
    const rows = made.rows.slice(at, at + IMPORT_LIMIT)
    const ids = new Set(rows.map(({ id }) => id))
    const gone = at === 0 ? replaced : []
    const counted = rows.filter(({ kind }) => kind === 'user' || kind === 'answer').length - gone.filter((one) => one.counted).length
    const turns = made.turns.filter(({ row }) => ids.has(row))
    imports.push({
      draft: {
        type: 'rows.imported', source, turns: turns.length, rows: rows.length, first: rows[0]!.pos, last: rows.at(-1)!.pos, replaced: gone.map(({ id }) => id), counted,
        lastAt: Math.max(...rows.map((row) => row.at)),
      },
      batch: { turns, rows },
      shows: made.shows.flatMap((row, index) => (row !== null && ids.has(row) ? [{ index, row }] : [])),
    })
  }
  return imports
}

function originalOf(message: StoredMessage): OriginalMessage {
  const timestamp = message.at / 1000
  if (message.role === 'user') return { role: 'user', content: message.text, timestamp, ...(message.synthetic ? { _source: 'agent' } : {}) }
  if (message.role === 'tool') return { role: 'tool', content: message.result, tool_call_id: message.call, timestamp, ...(message.state === 'done' ? {} : { is_error: true, _state: message.state }) }
  return {
    role: 'assistant', content: message.text, timestamp, ...(message.reasoning ? { reasoning: message.reasoning } : {}),
    ...(message.calls.length > 0 ? { tool_calls: message.calls.map(({ call, name, args }) => ({ id: call, type: 'function', function: { name, arguments: JSON.stringify(args ?? {}) } })) } : {}),
  }
}
