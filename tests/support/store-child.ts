import type { Store } from '../../server/store/port'
import { Chat } from './chat'
import { openTestStore } from './store-thread'

/**
 * A process of its own with a store in it, to be killed. `<folder>` alone opens it and waits; `<folder> <name>` writes to five sessions `ses_<name>_<i>` without end, three events an append, and
 * prints what it was told: `shown` from the listener and `done` from the append, each with session and last `seq`, in one write each. Beside them one session `ses_<name>_turns` has turn
 * after turn, a message that waits and one that leaves, is read, and loses the row events of what has settled.
 */
const [folder, name] = process.argv.slice(2)

try {
  const store = await openTestStore({ folder: folder!, interval: 2 })
  say('open')
  if (name) {
    store.onCommit((batch) => batch.forEach(({ session, events }) => events.length > 0 && say(`shown ${session} ${events.at(-1)!.seq}`)))
    void turns(store, new Chat(`ses_${name}_turns`))
    await Promise.all(Array.from({ length: 5 }, async (_, i) => {
      const chat = new Chat(`ses_${name}_${i}`)
      await store.append(chat.created())
      await store.append(chat.admitted('trn', 'Write.'))
      await store.append(chat.opened('trn', 'row'))
      for (let n = 0, length = 0; ; n++) {
        const text = `piece ${n}. `
        const grown = [0, 1, 2].map((k) => ({ type: 'row.grew' as const, row: 'row', run: chat.run('trn'), at0: length + k * text.length, text }))
        length += 3 * text.length
        await store.append(chat.append(grown, { urgency: n % 3 ? 'soon' : 'now' }))
        say(`done ${chat.session} ${chat.seq}`)
      }
    }))
  } else setInterval(() => {}, 1000)
} catch (error) {
  say(`failed ${(error as Error).message}`)
  process.exit(1)
}

async function turns(store: Store, chat: Chat): Promise<void> {
  await store.append(chat.created())
  for (let n = 0; ; n++) {
    const turn = `trn_${n}`
    await store.append(chat.admitted(turn, `question ${n}`))
    await store.append(chat.opened(turn, `row_${n}`, `answer ${n}`))
    await store.append(chat.append([{ type: 'queue.added', item: `que_${n}`, text: `waits ${n}`, by: 'person' }, ...(n > 0 ? [{ type: 'queue.removed' as const, items: [`que_${n - 1}`] }] : [])]))
    await store.append(chat.append([
      { type: 'row.closed', row: `row_${n}`, run: chat.run(turn), state: 'done', duration: 1 }, { type: 'run.settled', run: chat.run(turn), turn, outcome: 'completed', timings: { total: 1 } },
    ]))
    say(`done ${chat.session} ${chat.seq}`)
    await store.markRead(chat.session, chat.seq)
    say(`read ${chat.session} ${chat.seq}`)
    await store.prune({ settledBefore: Infinity, limit: 3 })
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
