import { before, forgetChats, saveChat, saveOlder } from './chats'
import { held, holding, type Held, type Unheld } from './held'
import { loadList, saveList } from './list'
import type { Copies } from './port'
import type { CopyDatabase } from './schema'

/** The copies that live in one open database. */
export function makeCopies(store: string, database: CopyDatabase): Copies {
  return {
    store,
    list: () => holding(() => loadList(database)),
    saveList: (save) => holding(() => saveList(database, save)),
    page: (session) => holding(async () => (await database.get('pages', session)) ?? null),
    before: (session, pos, limit) => holding(() => before(database, session, pos, limit)),
    saveChat: (save) => holding(() => saveChat(database, save)),
    saveOlder: (session, older) => holding(() => saveOlder(database, session, older)),
    forget: (sessions) => (sessions.length === 0 ? Promise.resolve(held(undefined)) : holding(() => forgetChats(database, sessions))),
    saved: () => holding(() => database.getAllKeys('pages')),
    draft: (session) => holding(async () => (await database.get('drafts', session))?.text ?? ''),
    saveDraft: (session, text, at) =>
      holding(async () => {
        if (text === '') await database.delete('drafts', session)
        else await database.put('drafts', { session, text, savedAt: at })
      }),
    answer: (key) => holding(async () => (await database.get('answers', key)) ?? null),
    saveAnswer: (answer) =>
      holding(async () => {
        await database.put('answers', answer)
      }),
    close: () => database.close(),
  }
}

/** Where there is no database: every verb says why, and the page goes on from the network. */
export function noCopies(store: string, why: Unheld): Copies {
  const no = async (): Promise<Held<never>> => ({ ok: false, why })
  return { store, list: no, saveList: no, page: no, before: no, saveChat: no, saveOlder: no, forget: no, saved: no, draft: no, saveDraft: no, answer: no, saveAnswer: no, close: () => undefined }
}
