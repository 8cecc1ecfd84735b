import { createRoot, createSignal } from 'solid-js'
import { describe, expect, test } from 'vitest'
import { untouched } from '../../../../server/contract/fold'
import type { Approval } from '../../../../server/contract/approvals'
import type { Row, ToolRow } from '../../../../server/contract/rows'
import type { Run, Transcript, Turn } from '../../../../server/contract/session'
import { createOpenChat, type ChatFacts } from '../../../../src/sync/reactive'
import { emptyValue, makeFakeSync } from '../../../support/fake-sync'

function run(state: Run['state']): Run {
  return { id: 'run_1', turn: 'trn_1', generation: 1, attempt: 1, cause: 'sent', agent: { kind: 'scripted', name: 's' }, model: null, startedAt: 1, state }
}
function turn(state: Run['state']): Turn {
  return { id: 'trn_1', row: 'row_1', pos: '11', source: 'person', admittedAt: 1, seq: 1, runs: [run(state)] }
}
function tool(id: string, approval?: Approval): ToolRow {
  return { id, n: 1, turn: 'trn_1', run: 'run_1', pos: '12', seq: 1, at: 1, state: 'live', kind: 'tool', text: '', tool: { call: 'c', name: 'shell', verb: 'run' }, ...(approval ? { approval } : {}) }
}
const open = (id: string, row: string, raisedAt: number): Approval => ({ id, row, run: 'run_1', raisedAt, state: 'open', action: 'Do it', tool: 'shell', choices: [] })
const touched = (rows: string[], part: { turns?: string[]; grew?: [string, string][]; removed?: string[] } = {}) =>
  ({ type: 'touched', touched: { ...untouched(), turns: new Set(part.turns), rows: new Set(rows), grew: new Map(part.grew), removed: new Set(part.removed) } }) as const

function rig() {
  const sync = makeFakeSync()
  const value: Transcript = emptyValue()
  sync.chat('ses_1').set({ value })
  const put = (row: Row) => {
    if (!value.rows.has(row.id)) value.order.push(row.id)
    value.rows.set(row.id, row)
  }
  return createRoot((dispose) => {
    const [id, setId] = createSignal<string | null>(null)
    const facts = createOpenChat(sync, id)
    return { sync, chat: sync.chat('ses_1'), value, put, facts, open: () => setId('ses_1'), leave: () => setId(null), dispose }
  })
}
const of = (facts: () => ChatFacts | null) => facts()!

describe('an open chat as signals', () => {
  test('open questions come and go with their rows, oldest first', () => {
    const it = rig()
    it.value.turns.set('trn_1', turn('running'))
    it.put(tool('row_b', open('apr_b', 'row_b', 2)))
    it.open()
    expect(of(it.facts).approvals().map((one) => one.id)).toEqual(['apr_b'])
    it.put(tool('row_a', open('apr_a', 'row_a', 1)))
    it.chat.tell(touched(['row_a']))
    expect(of(it.facts).approvals().map((one) => one.id)).toEqual(['apr_a', 'apr_b'])
    it.put(tool('row_a', { ...open('apr_a', 'row_a', 1), state: 'decided', choice: 'once', kind: 'once', by: 'person', decidedAt: 3 }))
    it.value.rows.delete('row_b')
    it.value.order.splice(it.value.order.indexOf('row_b'), 1)
    it.chat.tell(touched(['row_a'], { removed: ['row_b'] }))
    expect(of(it.facts).approvals()).toEqual([])
    it.dispose()
  })

  test('the live run is the last run of the newest turn', () => {
    const it = rig()
    it.open()
    expect(of(it.facts).run()).toBeNull()
    expect(of(it.facts).empty()).toBe(true)
    it.value.turns.set('trn_1', turn('running'))
    it.put(tool('row_a'))
    it.chat.tell(touched(['row_a'], { turns: ['trn_1'] }))
    expect(of(it.facts).run()?.state).toBe('running')
    expect(of(it.facts).empty()).toBe(false)
    it.value.turns.set('trn_1', turn('settled'))
    it.chat.tell(touched([], { turns: ['trn_1'] }))
    expect(of(it.facts).run()?.state).toBe('settled')
    it.dispose()
  })

  test('every kind of question is told, oldest first, and leaves when it is answered', () => {
    const it = rig()
    it.put(tool('row_a', open('apr_a', 'row_a', 3)))
    const asked = { id: 'clr_1', row: 'row_b', run: 'run_1', raisedAt: 1, question: 'Gross or net?', choices: ['Gross', 'Net'], free: true }
    const base = { n: 2, turn: 'trn_1', run: 'run_1', seq: 2, at: 1, state: 'live' as const, kind: 'question' as const, text: '' }
    it.put({ ...base, id: 'row_b', pos: '12', clarify: { ...asked, state: 'open' } })
    it.put({ ...base, id: 'row_c', pos: '13', secret: { id: 'sec_1', row: 'row_c', run: 'run_1', raisedAt: 2, kind: 'sudo', prompt: 'Password', state: 'open' } })
    it.open()
    expect(of(it.facts).questions().map((one) => [one.kind, one.asked.id])).toEqual([['clarify', 'clr_1'], ['secret', 'sec_1'], ['approval', 'apr_a']])
    it.put({ ...base, id: 'row_b', pos: '12', clarify: { ...asked, state: 'answered', answer: 'Net', answeredAt: 4 } })
    it.chat.tell(touched(['row_b']))
    expect(of(it.facts).questions().map((one) => one.kind)).toEqual(['secret', 'approval'])
    it.dispose()
  })

  test('the waiting messages are told when one of them changed, and only then', () => {
    const it = rig()
    it.open()
    const none = of(it.facts).queue()
    it.chat.tell(touched([], { grew: [['row_a', 'more']] }))
    expect(of(it.facts).queue()).toBe(none)
    it.value.queue = { items: [{ id: 'que_1', text: 'Then prune', addedAt: 1, by: 'person' }], seq: 9 }
    it.chat.tell(touched([]))
    expect(of(it.facts).queue().items.map((item) => item.text)).toEqual(['Then prune'])
    it.dispose()
  })

  test('growing text moves none of the facts', () => {
    const it = rig()
    it.value.turns.set('trn_1', turn('running'))
    it.put(tool('row_a'))
    it.open()
    const before = [of(it.facts).run(), of(it.facts).approvals()]
    it.chat.tell(touched([], { grew: [['row_a', 'more']] }))
    expect([of(it.facts).run(), of(it.facts).approvals()]).toEqual(before)
    expect(of(it.facts).approvals()).toBe(before[1])
    it.dispose()
  })

  test('a replaced value is read anew, and leaving closes the chat', () => {
    const it = rig()
    it.open()
    const other = emptyValue()
    other.turns.set('trn_1', turn('running'))
    other.rows.set('row_a', tool('row_a', open('apr_a', 'row_a', 1)))
    other.order.push('row_a')
    it.chat.set({ value: other, freshness: 'copy', savedAt: 7 })
    expect(of(it.facts).approvals()).toHaveLength(1)
    expect(of(it.facts).freshness()).toBe('copy')
    expect(of(it.facts).savedAt()).toBe(7)
    it.leave()
    expect(it.facts()).toBeNull()
    it.dispose()
  })
})
