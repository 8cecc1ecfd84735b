import { Chat } from './chat'
import { openTestStore } from './store-thread'

/**
 * A process of its own with a store in it, to be killed. `<folder>` alone opens it and waits; `<folder> <name>` writes to five sessions `ses_<name>_<i>` without end, three events an append, and
 * prints what it was told: `shown` from the listener and `done` from the append, each with session and last `seq`, in one write each.
 */
const [folder, name] = process.argv.slice(2)

try {
  const store = await openTestStore({ folder: folder!, interval: 2 })
  say('open')
  if (name) {
    store.onCommit((batch) => batch.forEach(({ session, events }) => say(`shown ${session} ${events.at(-1)!.seq}`)))
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

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
