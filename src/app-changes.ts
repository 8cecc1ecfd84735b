import type { Drafts } from './composer/drafts'
import type { Change, KeptChange } from './composer/queue-port'

/** A half-written change of a waiting message lies where the drafts of the message box lie, under a name of its own. */
function changeName(session: string): string {
  return `change.${session}`
}

export function makeKeptChange(drafts: Drafts, session: string): KeptChange {
  const name = changeName(session)
  return {
    load: async () => parse((await drafts.load(name)).text),
    keep: (change) => drafts.note(name, change ? JSON.stringify(change) : ''),
  }
}

function parse(text: string): Change | null {
  if (text === '') return null
  try {
    const { id, was, text: words } = JSON.parse(text) as Partial<Change>
    return typeof id === 'string' && typeof was === 'string' && typeof words === 'string' ? { id, was, text: words } : null
  } catch {
    return null
  }
}
