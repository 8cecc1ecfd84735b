import type { Way } from './way'

/**
 * Drafts that survive reload, crash, a full disk and a lost network. The text lies in IndexedDB; what was typed in the last moment is
 * written synchronously to the quick store when the page hides, because a promise may not outlive it.
 */
export interface Draft {
  text: string
  /** Device's ms of the last change; the newer of two copies counts. */
  at: number
  /**
   * The send that carried this text: the same text keeps its key, so that sending it again cannot send it twice (law 7). `way`: how it was last on
   * its way without an answer; each way has receipts of its own, so the next attempt goes the same one.
   */
  sent?: { key: string; text: string; way?: Way }
}

/** The durable store; a rejection is a normal state and loses nothing here. Values are opaque to it; an empty one removes the draft. */
export interface DraftShelf {
  read(chat: string): Promise<string>
  write(chat: string, value: string, at: number): Promise<unknown>
}

/** Small, synchronous, allowed to refuse. `localStorage` fits. */
export interface QuickShelf {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export interface DraftParts {
  shelf: DraftShelf
  quick: QuickShelf
  now: () => number
  /** A new idempotency key. */
  mintKey: () => string
  /** Runs once after some ms; returns its cancel. */
  later: (ms: number, run: () => void) => () => void
}

/** Typing rests this long before the durable store is written, ms. */
export const REST_MS = 400
const PREFIX = 'talaria.draft.'

export interface Drafts {
  /** The newest text of a chat; empty when there is none. */
  load(chat: string): Promise<Draft>
  /** Takes note of what stands in the box. */
  note(chat: string, text: string): void
  /** The key under which this text is sent: the earlier one if the text was sent before and is unchanged. Kept before it returns, with the way on which it goes. */
  claim(chat: string, text: string, way?: Way): string
  /** The claimed text is on its way now; null once the server has said that it keeps nothing of it. Kept before it returns. */
  going(chat: string, key: string, way: Way | null): void
  /** The way on which this very text was last, when nobody knows whether it arrived. */
  unsure(chat: string, text: string): Way | undefined
  /** Puts text below what is kept of a chat. */
  append(chat: string, text: string): Promise<void>
  /** The text was taken: nothing is kept of it, unless newer text stands in the box. */
  settle(chat: string, key: string): void
  /** What is kept of a chat now, without asking the store. */
  peek(chat: string): Draft | undefined
  /** Writes everything that is not durable yet, synchronously. */
  flush(): void
}

export function makeDrafts(parts: DraftParts): Drafts {
  const held = new Map<string, Draft>()
  const waiting = new Map<string, () => void>()

  const quickWrite = (chat: string, draft: Draft) => {
    try {
      if (draft.text === '') parts.quick.removeItem(PREFIX + chat)
      else parts.quick.setItem(PREFIX + chat, JSON.stringify(draft))
    } catch {
      // Full or forbidden: the durable store has it in a moment.
    }
  }
  const quickDrop = (chat: string) => {
    try {
      parts.quick.removeItem(PREFIX + chat)
    } catch {
      // Forbidden storage holds nothing.
    }
  }
  const store = (chat: string) => {
    waiting.get(chat)?.()
    waiting.delete(chat)
    const draft = held.get(chat)
    if (!draft) return
    // An empty box must not come back from the quick store while the durable one is being emptied.
    if (draft.text === '') quickDrop(chat)
    void parts.shelf.write(chat, draft.text === '' ? '' : JSON.stringify(draft), draft.at).then(
      () => {
        if (held.get(chat) === draft) quickDrop(chat)
      },
      () => quickWrite(chat, draft),
    )
  }
  const soon = (chat: string) => {
    if (!waiting.has(chat)) waiting.set(chat, parts.later(REST_MS, () => store(chat)))
  }

  const drafts: Drafts = {
    async load(chat) {
      const known = held.get(chat)
      if (known) return known
      const kept = await parts.shelf.read(chat).catch(() => '')
      // Typed while the store was being read: that is newer.
      const typed = held.get(chat)
      if (typed) return typed
      const newest = [parse(kept), parse(quickRead(parts.quick, chat))].reduce((a, b) => (b.at > a.at ? b : a))
      held.set(chat, newest)
      return newest
    },
    note(chat, text) {
      const before = held.get(chat)
      if ((before?.text ?? '') === text) return
      held.set(chat, { text, at: parts.now(), ...(before?.sent ? { sent: before.sent } : {}) })
      soon(chat)
    },
    claim(chat, text, way) {
      const before = held.get(chat)?.sent
      const sent = { ...(before?.text === text ? before : { key: parts.mintKey(), text }), ...(way ? { way } : {}) }
      const draft: Draft = { text, at: parts.now(), sent }
      held.set(chat, draft)
      quickWrite(chat, draft)
      store(chat)
      return sent.key
    },
    going(chat, key, way) {
      const before = held.get(chat)
      if (before?.sent?.key !== key) return
      const { way: _, ...sent } = before.sent
      const draft: Draft = { ...before, at: parts.now(), sent: way === null ? sent : { ...sent, way } }
      held.set(chat, draft)
      quickWrite(chat, draft)
      store(chat)
    },
    unsure(chat, text) {
      const sent = held.get(chat)?.sent
      return sent?.text === text ? sent.way : undefined
    },
    async append(chat, text) {
      const { text: before } = await drafts.load(chat)
      drafts.note(chat, before.trim() === '' ? text : `${before}\n\n${text}`)
    },
    settle(chat, key) {
      const draft = held.get(chat)
      if (draft?.sent?.key !== key) return
      const text = draft.text === draft.sent.text ? '' : draft.text
      held.set(chat, { text, at: parts.now() })
      store(chat)
    },
    peek: (chat) => held.get(chat),
    flush() {
      for (const chat of [...waiting.keys()]) {
        const draft = held.get(chat)
        if (draft) quickWrite(chat, draft)
        store(chat)
      }
    },
  }
  return drafts
}

function quickRead(quick: QuickShelf, chat: string): string {
  try {
    return quick.getItem(PREFIX + chat) ?? ''
  } catch {
    return ''
  }
}

function parse(value: string): Draft {
  try {
    const draft = JSON.parse(value) as Draft
    if (typeof draft.text === 'string' && typeof draft.at === 'number') return draft
  } catch {
    // Nothing was kept.
  }
  return { text: '', at: -1 }
}
