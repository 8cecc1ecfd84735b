import { join } from 'node:path'
import type { Draft } from '../../server/contract/events'
import type { Store } from '../../server/store/port'
import { Chat } from '../support/chat'
import { openTestStore } from '../support/store-thread'

/** Opens the store that a product of this folder will find, fills it and lets it go. */
export async function seeded(folder: string, fill: (store: Store) => Promise<void>): Promise<void> {
  const store = await openTestStore({ folder: join(folder, 'state', 'talaria'), interval: 0 })
  try {
    await fill(store)
  } finally {
    await store.close()
  }
}

/** Rows of one turn of `seedChat`. */
const TURN_ROWS = 5

/** The last words of a chat of `seedChat`: what a reader sees when it has opened. */
export function lastWords(session: string): string {
  return `So ends ${session}.`
}

/** A chat of about `rows` rows as work with an agent makes them: a question, a thought, two tools, an answer; all at `at` ms. */
export async function seedChat(store: Store, session: string, rows: number, at: number): Promise<void> {
  const chat = new Chat(session)
  await store.append(chat.created({ at, title: `A chat of ${rows} rows` }))
  const turns = Math.floor(rows / TURN_ROWS)
  let waiting: Promise<unknown>[] = []
  for (let i = 0; i < turns; i++) {
    const turn = `trn_${session}_${i}`
    waiting.push(store.append(chat.admitted(turn, `What about part ${i} of it?`, { at })))
    waiting.push(store.append(chat.append(rowsOf(chat, turn, i === turns - 1 ? lastWords(session) : ''), { at })))
    waiting.push(store.append(chat.settled(turn)))
    // Side by side they share commits.
    if (waiting.length < 90) continue
    await Promise.all(waiting)
    waiting = []
  }
  await Promise.all(waiting)
}

function rowsOf(chat: Chat, turn: string, end: string): Draft[] {
  const open = (name: string) => ({ type: 'row.opened' as const, row: `row_${turn}_${name}`, ...chat.place(), turn, run: chat.run(turn), state: 'done' as const })
  const tool = (name: string, target: string): Draft => ({ ...open(name), kind: 'tool', tool: { call: `${turn}_${name}`, name: 'shell', verb: 'run', target, output: 'a line of output\n'.repeat(12), exit: 0 } })
  return [
    { ...open('thought'), kind: 'thought', text: 'The question is about a part that I have not read yet. '.repeat(4) },
    tool('first', 'grep -rn part notes'),
    tool('second', 'make test'),
    { ...open('answer'), kind: 'answer', text: `Here is **what I found** in \`notes/part.md\`:\n\n- one thing that is long enough to wrap on a small screen, as answers do\n- another\n\n\`\`\`ts\nexport const part = (n: number) => n * 2\n\`\`\`\n\n${'Then there is more to say about it in a sentence of its own. '.repeat(5)}\n\n${end}` },
  ]
}

/** Empty chats, one ms after the other. */
export async function seedList(store: Store, count: number): Promise<void> {
  for (let from = 0; from < count; from += 250) {
    await Promise.all(Array.from({ length: Math.min(250, count - from) }, (_, i) => store.append(new Chat(`ses_listed_${from + i}`).created({ at: 1000 + from + i, title: `Chat ${from + i}` }))))
  }
}
