import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../../../server/contract/events'
import { emptyTranscript, fold, type ImportBatch } from '../../../../server/contract/fold'
import { fromMessages } from '../../../../server/contract/from-messages'
import { posAfter } from '../../../../server/contract/ids'
import { toMessages } from '../../../../server/contract/messages'
import { insertRow } from '../../../../server/contract/order'
import type { OriginalMessage } from '../../../../server/contract/routes/shapes'
import type { Transcript } from '../../../../server/contract/session'
import { checkInvariants } from '../../../support/invariants'
import { importedHistory } from '../../../support/imports'

function batchOf(messages: readonly OriginalMessage[], turn?: string): ImportBatch & { shows: (string | null)[] } {
  let ids = 0
  let pos = ''
  return fromMessages(messages, {
    mint: (kind) => `${kind}_${++ids}`, place: () => ({ n: ++ids, pos: (pos = posAfter(pos)) }), seq: 2, describe: (_call, name) => ({ verb: name === 'read_file' ? 'read' : 'other' }), ...(turn ? { turn } : {}),
  })
}

function valueOf({ turns, rows }: ImportBatch): Transcript {
  const value = emptyTranscript()
  for (const turn of turns) value.turns.set(turn.id, turn)
  for (const row of rows) insertRow(value, row)
  return value
}

const again = (messages: readonly OriginalMessage[]): OriginalMessage[] => toMessages(valueOf(batchOf(messages)))

/** Names of files bring no files. What messages say of a run, and not of what was said, does not come back; numbers are given anew, and a tool's time counts from its round. */
function said(messages: readonly OriginalMessage[]): OriginalMessage[] {
  return messages.flatMap((message) => {
    if (message._error === true || message._source === 'clarify') return []
    const { id: _, timestamp: _______, _turnUsage: __, _turnDuration: ___, _firstTokenMs: ____, _usedModel: _____, _partial: ______, attachments: ________, ...rest } = message
    if (rest.role === 'assistant' && rest.content === '' && !rest.reasoning && !rest.tool_calls) return []
    return [rest as OriginalMessage]
  })
}

/** Up to the last instant at which no run was live: a tool that still runs has no result yet. */
function settledEvents(events: readonly Event[]): Event[] {
  let live = false
  let end = 0
  events.forEach(({ type }, i) => {
    if (type === 'run.started') live = true
    if (type === 'run.settled') live = false
    if (!live) end = i + 1
  })
  return events.slice(0, end)
}

describe('messages become rows', () => {
  test('as many and as they were: a turn for each question, thoughts, answers, tools with their results', () => {
    const batch = batchOf([
      { role: 'user', content: 'Look', timestamp: 1 },
      { role: 'assistant', content: 'I look.', reasoning: 'Where?', timestamp: 2, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a.md"}' } }, { name: 'odd', arguments: 'not json' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'Alpha', timestamp: 3.5 },
      { role: 'tool', tool_call_id: 'nowhere', name: 'late', content: 'x', timestamp: 4, is_error: true },
      { role: 'assistant', content: 'There.', timestamp: 5 },
      { role: 'user', content: 'Thanks', timestamp: 6, _source: 'queue' },
    ])
    expect(batch.rows.map(({ kind, state, text }) => [kind, state, text])).toEqual([
      ['user', 'done', 'Look'], ['thought', 'done', 'Where?'], ['answer', 'done', 'I look.'], ['tool', 'done', ''], ['tool', 'unknown', ''], ['tool', 'failed', ''], ['answer', 'done', 'There.'], ['user', 'done', 'Thanks'],
    ])
    expect(batch.rows[3]).toMatchObject({ at: 2000, duration: 1500, tool: { call: 'c1', name: 'read_file', verb: 'read', args: { path: 'a.md' }, result: 'Alpha' } })
    expect(batch.rows[4]).toMatchObject({ tool: { name: 'odd', args: 'not json' } })
    expect(batch.turns.map(({ source, runs }) => [source, runs])).toEqual([['person', []], ['queue', []]])
    expect(batch.shows.map((id) => batch.rows.find((row) => row.id === id)?.kind)).toEqual(['user', 'answer', 'tool', 'tool', 'answer', 'user'])
    expect(checkInvariants({ ...valueOf(batch), session: null })).toEqual([])
  })

  test('words before any question are a turn that the agent began, or go on with one that is given', () => {
    const words: OriginalMessage[] = [{ role: 'assistant', content: 'Hello.', timestamp: 1 }]
    expect(batchOf(words)).toMatchObject({ turns: [{ source: 'agent' }], rows: [{ kind: 'user', text: '' }, { kind: 'answer' }] })
    expect(batchOf(words, 'trn_before')).toMatchObject({ turns: [], rows: [{ kind: 'answer', turn: 'trn_before' }] })
  })

  test('what a tool said is bounded', () => {
    const [, , tool] = batchOf([{ role: 'user', content: 'x', timestamp: 1 }, { role: 'assistant', content: 'y', timestamp: 1, tool_calls: [{ id: 'c', function: { name: 't', arguments: '' } }] }, { role: 'tool', tool_call_id: 'c', content: 'z'.repeat(50_000), timestamp: 2 }]).rows
    expect(tool).toMatchObject({ tool: { cut: true } })
    expect(tool!.kind === 'tool' && tool!.tool.result!.length).toBe(16_384)
  })

  test('law 6: what messages can say comes back the same, and a second time too', () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
    console.log(`messages and back: seed ${seed}`)
    fc.assert(fc.property(importedHistory({ deletable: false }), ({ appends, batchOf: batches }) => {
      const all = toMessages(fold(emptyTranscript(), settledEvents(appends.flatMap(({ events }) => events)), batches))
      const messages = said(all)
      const once = said(again(messages))
      // Where a line between two rounds, or an answer without words, does not come back, rounds may become one.
      const rounds = messages.filter(({ role }) => role !== 'tool')
      const joined = rounds.some((message, i) => {
        const before = rounds[i - 1]
        return message.role === 'assistant' && before?.role === 'assistant' && ((message.content === '' && !message.reasoning) || (before.content === '' && !before.tool_calls))
      })
      if (!joined && all.filter(({ _error }) => _error !== true).length === messages.length) expect(once).toEqual(messages)
      expect(said(again(once))).toEqual(once)
    }), { numRuns: 2000, seed })
  })
})
