import { createEffect, createSignal, on, onCleanup, type Accessor } from 'solid-js'
import { answerName } from './app-answers'
import { makeKeptChange } from './app-changes'
import type { AppParts } from './app-parts'
import type { ComposerHandle } from './composer/port'

/** A half-written answer that was left is looked for this long after its chat stands, ms: reading comes first. */
const LOOK_MS = 1500

export interface LeftParts {
  parts: Pick<AppParts, 'drafts' | 'later' | 'sync'>
  /** The open chat, once it is known what it asks. */
  chat: Accessor<string | null>
  /** The message box while it stands; a sheet may stand in its place. */
  box: () => ComposerHandle | undefined
}

/**
 * Words that have lost their place. `waiting`: the chat for which a half-written answer lies on this device. `rescue` puts words below what
 * stands in the message box of a chat, or in its draft while the box is not there; `withdraw` takes them out again where nothing but them stands there.
 */
export function createLeft({ parts, chat, box }: LeftParts): { waiting: Accessor<string | null>; rescue: (chat: string, text: string) => void; withdraw: (chat: string, text: string) => void } {
  const [waiting, setWaiting] = createSignal<string | null>(null)
  createEffect(
    on(chat, (id) => {
      if (id === null) return
      const look = async () => {
        if ((await parts.drafts.load(answerName(id))).text !== '') setWaiting(id)
        // While messages wait, their card finds the place of a half-written change.
        if (parts.sync.list().entries.get(id)?.queued) return
        const kept = makeKeptChange(parts.drafts, id)
        const change = await kept.load()
        if (!change) return
        kept.keep(null)
        await rescue(id, change.text.trim())
      }
      onCleanup(parts.later(LOOK_MS, () => void look()))
    }),
  )
  const rescue = async (id: string, text: string) => {
    // First the box comes back where a sheet was, with what is kept of it.
    await Promise.resolve()
    await parts.drafts.load(id)
    const here = id === chat() ? box() : undefined
    if (here) here.give(text)
    else await parts.drafts.append(id, text)
  }
  const withdraw = async (id: string, text: string) => {
    await Promise.resolve()
    const { text: kept } = await parts.drafts.load(id)
    const here = id === chat() ? box() : undefined
    if (here) here.take(text)
    else if (kept === text && parts.drafts.unsure(id, text) === undefined) parts.drafts.note(id, '')
  }
  return { waiting, rescue: (id, text) => void rescue(id, text), withdraw: (id, text) => void withdraw(id, text) }
}
