import { itemsAfter } from '../contract/apply-queue'
import type { QueueEvent } from '../contract/apply-queue'
import { ATTACHMENTS_LIMIT, joinedAttachments, withAttachments } from '../contract/attachments'
import type { Attachment } from '../contract/attachments'
import type { Draft } from '../contract/events'
import type { Mint } from '../contract/ids'
import { Refusal } from '../contract/problems'
import { QUEUE_LIMIT } from '../contract/queue'
import type { QueueItem } from '../contract/queue'
import { wellFormed } from './wellformed'

/** Scope of the receipts of messages that were lined up. */
export const QUEUE_ROUTE = '/api/chat/queue'

/** Between texts that become one message. */
const JOINT = '\n\n'
/** UTF-16 units of a message that several become: no longer than one that a request can bring. */
const JOINED_LIMIT = 20 * 1024 * 1024

type Items = readonly QueueItem[]

/** A new item at the end, or before another one that still waits. Refuses with `message_required` and `queue_full`. */
export function adding(items: Items, mint: Mint, input: { text: string; attachments?: readonly Attachment[] | undefined; before?: string; key?: string }): { item: string; drafts: Draft[] } {
  const text = checked(input.text, input.attachments)
  if (items.length >= QUEUE_LIMIT) throw new Refusal('queue_full', `No more than ${QUEUE_LIMIT} messages can wait.`)
  const item = mint('que')
  const before = items.some(({ id }) => id === input.before) ? { before: input.before! } : {}
  return { item, drafts: [{ type: 'queue.added', item, text, by: 'person', ...before, ...withAttachments(input.attachments), ...(input.key === undefined ? {} : { key: input.key }) }] }
}

/** Another text for an item, and other files where any are named. */
export function changing(items: Items, id: string, given: string, attachments?: readonly Attachment[]): Draft[] {
  const before = held(items, id)
  const text = checked(given, attachments ?? before.attachments)
  const files = attachments && namesOf(attachments) !== namesOf(before.attachments) ? { attachments } : {}
  return before.text === text && !('attachments' in files) ? [] : [{ type: 'queue.changed', item: id, text, ...files }]
}

/** Before another item, or to the end. One that has gone meanwhile refuses: its place is not known any more. */
export function moving(items: Items, id: string, before: string | undefined): Draft[] {
  held(items, id)
  if (before === undefined) return items.at(-1)!.id === id ? [] : [{ type: 'queue.moved', item: id }]
  held(items, before)
  return before === id ? [] : [{ type: 'queue.moved', item: id, before }]
}

/** At least two items become one, in the order in which they wait and where the first of them stands. */
export function combining(items: Items, ids: readonly string[]): Draft[] {
  const joined = heldAll(items, ids)
  if (joined.length < 2) throw new Refusal('bad_request', 'At least two messages are needed to make one of them.')
  if (joined.reduce((units, { text }) => units + text.length, 0) > JOINED_LIMIT) throw new Refusal('bad_request', 'Together these messages are too long for one.')
  const files = joinedAttachments(joined.map(({ attachments }) => attachments))
  if (files.length > ATTACHMENTS_LIMIT) throw new Refusal('bad_request', `Together these messages have more than ${ATTACHMENTS_LIMIT} files.`)
  const text = joined.map((item) => item.text).filter((each) => each.trim() !== '').join(JOINT)
  return [{ type: 'queue.combined', items: joined.map(({ id }) => id), text, ...withAttachments(files) }]
}

/** All of them leave, or none: one that was sent meanwhile cannot be taken back. */
export function removing(items: Items, ids: readonly string[]): Draft[] {
  const leaving = heldAll(items, ids)
  return leaving.length === 0 ? [] : [{ type: 'queue.removed', items: leaving.map(({ id }) => id) }]
}

/** Goes next as soon as no run is live, behind those of which the same was said before. */
export function sending(items: Items, id: string): Draft[] {
  if (held(items, id).send) return []
  const before = items.find((item) => !item.send && item.id !== id)
  return [{ type: 'queue.moved', item: id, send: true, ...(before ? { before: before.id } : {}) }]
}

/** Words that a run did not use, back at the head of the queue in the order in which they were said (spec/log.md §3). */
export function returning(items: Items, mint: Mint, texts: readonly string[]): { items: string[]; drafts: Draft[] } {
  const before = items[0] ? { before: items[0].id } : {}
  const ids = texts.map(() => mint('que'))
  return { items: ids, drafts: texts.map((text, i) => ({ type: 'queue.added', item: ids[i]!, text, by: 'steer', ...before })) }
}

/** What waits once drafts have committed: how the actor knows what it has claimed before the store does. */
export function waitingAfter(items: Items, drafts: readonly Draft[], at: number): Items {
  return drafts.reduce((held, draft) => (isOfQueue(draft) ? (itemsAfter(held, { ...draft, session: '', seq: 0, at } as QueueEvent) ?? held) : held), items)
}

function isOfQueue(draft: Draft): boolean {
  return draft.type.startsWith('queue.')
}

function checked(text: string, attachments: readonly Attachment[] | undefined): string {
  if (text.trim() === '' && !attachments?.length) throw new Refusal('message_required', 'A message is required.')
  return wellFormed(text)
}

function namesOf(attachments: readonly Attachment[] | undefined): string {
  return (attachments ?? []).map(({ id }) => id).join(' ')
}

function held(items: Items, id: string): QueueItem {
  const item = items.find((each) => each.id === id)
  if (!item) throw new Refusal('queue_item_not_found', 'This message does not wait any more.')
  return item
}

/** Each once, in the order in which they wait. */
function heldAll(items: Items, ids: readonly string[]): QueueItem[] {
  for (const id of ids) held(items, id)
  return items.filter(({ id }) => ids.includes(id))
}
