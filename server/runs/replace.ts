import { Refusal } from '../contract/problems'
import type { Row } from '../contract/rows'
import type { SessionHead } from '../contract/session'
import type { ForeignRow, Store } from '../store/port'
import type { Replaced } from './admit'

/** Rows of one read backwards; an edited message is nearly always the last one. */
const WINDOW = 100

/**
 * What leaves when a message is sent in the place of an earlier one (`replace_from`): its row and everything behind it. Refuses with `nothing_to_edit` what is no message of a person, or stands
 * no more. `own`: the agent keeps a history of its own; what it may hold of the turns that leave and is not known by its rows cannot be taken back there, so the agent's session is forgotten.
 */
export async function replacedFrom(store: Store, head: SessionHead, from: string, own: boolean): Promise<Replaced> {
  const rows: Row[] = []
  let before: string | undefined
  let found: Row | undefined
  for (;;) {
    const page = await store.window(head.id, { limit: WINDOW, ...(before === undefined ? {} : { before }) })
    rows.unshift(...(page?.rows ?? []))
    found = rows.find(({ id }) => id === from)
    if (found || !page || page.from === '') break
    before = page.from
  }
  if (found?.kind !== 'user' || found.source === 'agent' || found.source === 'wakeup') throw new Refusal('nothing_to_edit', 'This message cannot be edited any more.')
  const leaving = rows.filter((row) => row.pos >= found.pos)
  const questions = leaving.filter(({ kind }) => kind === 'user')
  return {
    rows: leaving.map(({ id }) => id), turns: questions.map(({ turn }) => turn), counted: leaving.filter(({ kind }) => kind === 'user' || kind === 'answer').length,
    all: rows[0] === found && (await store.window(head.id, { limit: 1, before: found.pos }))?.rows.length === 0,
    ...(found.attachments ? { attachments: found.attachments } : {}),
    forget: own && head.foreign !== undefined && head.foreignMark === undefined && !allKnown(questions, await store.foreign(head.id)),
  }
}

/** The head as it is once the agent's session is forgotten. */
export function forgotten({ foreign: _, foreignMark: __, ...head }: SessionHead): SessionHead {
  return head
}

function allKnown(questions: readonly Row[], foreign: readonly ForeignRow[]): boolean {
  const known = new Set(foreign.map(({ ours }) => ours))
  return questions.every(({ id }) => known.has(id))
}
