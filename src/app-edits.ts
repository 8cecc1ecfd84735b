import { createSignal, type Accessor } from 'solid-js'
import { t } from '../i18n'
import type { ListEntry } from '../server/contract/listing'
import type { Backend } from './backend/port'
import { reasonOf } from './shell/reason'
import type { Notices } from './ui/notices'

/** What is done to a chat from outside of it. Failures are told as notices; nothing rejects. */
export interface Edits {
  rename: (id: string, title: string) => Promise<void>
  /** The chat whose deletion waits to be confirmed. */
  leaving: Accessor<ListEntry | null>
  setLeaving: (entry: ListEntry | null) => void
  remove: (id: string) => Promise<void>
}

/** `onRemoved` is told before the notice, so that nobody stays in a chat that is gone. */
export function createEdits(backend: Backend, notices: Notices, onRemoved: (id: string) => void): Edits {
  const [leaving, setLeaving] = createSignal<ListEntry | null>(null)
  const rename = async (id: string, title: string) => {
    try {
      await backend.call('POST /api/session/rename', { session_id: id, title })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('list.rename.failed', { reason: reasonOf(error) }) })
    }
  }
  const remove = async (id: string) => {
    setLeaving(null)
    try {
      await backend.call('POST /api/session/delete', { session_id: id })
      onRemoved(id)
      notices.toast({ kind: 'plain', icon: 'trash', text: t('list.deleted') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('list.delete.failed', { reason: reasonOf(error) }) })
    }
  }
  return { rename, leaving, setLeaving, remove }
}
