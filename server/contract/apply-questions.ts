import type { Approval } from './approvals'
import { changeHeld } from './apply-rows'
import type { EventOf } from './events'
import { present } from './present'
import type { Clarify, Secret } from './questions'
import type { QuestionRow, Row, ToolRow } from './rows'
import type { Transcript } from './session'
import type { Touched } from './touched'

/**
 * Effects of questions on their rows; same promise as in `apply-rows.ts`. A row asks one thing at a time. An answer that did not reach the
 * agent is retired after it was given (spec/log.md §9) and may be asked anew on the same row; nothing follows a retirement.
 */
type Raised = EventOf<'approval.raised' | 'clarify.raised' | 'secret.raised'>
type Ended = EventOf<'approval.decided' | 'approval.retired' | 'clarify.answered' | 'clarify.retired' | 'secret.answered' | 'secret.retired'>

export function raiseQuestion(value: Transcript, event: Raised, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    if (!asks(row) || row.state !== 'live' || questionOf(row)?.state === 'open') return null
    const asked = { state: 'open' as const, row: row.id, run: event.run, raisedAt: event.at }
    touched.rows.add(row.id)
    if (event.type === 'approval.raised') return hasOther(row, 'approval') ? null : { ...row, approval: { ...present(event.request), ...asked, id: event.approval } }
    if (row.kind !== 'question') return null
    if (event.type === 'clarify.raised') return hasOther(row, 'clarify') ? null : { ...row, clarify: { ...present(event.request), ...asked, id: event.clarify } }
    return hasOther(row, 'secret') ? null : { ...row, secret: { ...present(event.request), ...asked, id: event.secret } }
  })
}

export function endQuestion(value: Transcript, event: Ended, touched: Touched): boolean {
  return changeHeld(value, event, (row) => {
    const ended = asks(row) ? endedOf(row, event) : null
    if (ended) touched.rows.add(row.id)
    return ended
  })
}

/** What a row asks or asked, whatever its kind. */
export function questionOf(row: Row): Approval | Clarify | Secret | undefined {
  if (row.kind === 'tool') return row.approval
  return row.kind === 'question' ? (row.approval ?? row.clarify ?? row.secret) : undefined
}

function endedOf(row: ToolRow | QuestionRow, event: Ended): Row | null {
  switch (event.type) {
    case 'approval.decided': {
      const { approval } = row
      if (approval?.id !== event.approval || approval.state !== 'open') return null
      return { ...row, approval: { ...approval, state: 'decided', choice: event.choice, kind: event.kind, by: event.by, decidedAt: event.at } }
    }
    case 'approval.retired': {
      const { approval } = row
      return approval?.id !== event.approval || approval.state === 'retired' ? null : { ...row, approval: { ...approval, state: 'retired', why: event.why } }
    }
    default: return row.kind === 'question' ? endedWords(row, event) : null
  }
}

function endedWords(row: QuestionRow, event: Exclude<Ended, EventOf<'approval.decided' | 'approval.retired'>>): Row | null {
  const { clarify, secret } = row
  switch (event.type) {
    case 'clarify.answered':
      return clarify?.id !== event.clarify || clarify.state !== 'open' ? null : { ...row, clarify: { ...clarify, state: 'answered', answer: event.answer, answeredAt: event.at } }
    case 'clarify.retired':
      return clarify?.id !== event.clarify || clarify.state === 'retired' ? null : { ...row, clarify: { ...clarify, state: 'retired', why: event.why } }
    case 'secret.answered':
      return secret?.id !== event.secret || secret.state !== 'open' ? null : { ...row, secret: { ...secret, state: 'answered', given: event.given, answeredAt: event.at } }
    case 'secret.retired':
      return secret?.id !== event.secret || secret.state === 'retired' ? null : { ...row, secret: { ...secret, state: 'retired', why: event.why } }
  }
}

function hasOther(row: ToolRow | QuestionRow, kind: 'approval' | 'clarify' | 'secret'): boolean {
  return row.kind === 'question' && (['approval', 'clarify', 'secret'] as const).some((other) => other !== kind && row[other] !== undefined)
}

function asks(row: Row): row is ToolRow | QuestionRow {
  return row.kind === 'tool' || row.kind === 'question'
}
