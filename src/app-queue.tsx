import { makeKeptChange } from './app-changes'
import type { AppParts } from './app-parts'
import { QueueCard } from './composer/queue-card'
import type { QueueOrders } from './composer/queue-port'
import { queuePaused } from '../server/contract/queue'
import type { ChatFacts } from './sync/reactive'
import { useNotices } from './ui/notices'

export interface WaitingProps {
  parts: AppParts
  /** The chat whose messages wait; another chat is another card. */
  facts: ChatFacts
  online: boolean
  fresh: boolean
  give: (text: string) => void
  /** The card leaves with the focus in it. */
  onLeft: () => void
}

/** The waiting messages of the open chat, joined with the server. Loaded when the first one waits. */
export function Waiting(props: WaitingProps) {
  const notices = useNotices()
  // One card for each chat.
  // eslint-disable-next-line solid/reactivity
  const { facts, parts } = props
  const session_id = facts.chat.session
  const { backend } = parts
  const orders: QueueOrders = {
    change: (item, message) => backend.call('POST /api/chat/queue/change', { session_id, item, message }),
    move: (item, before) => backend.call('POST /api/chat/queue/move', { session_id, item, ...(before === undefined ? {} : { before }) }),
    combine: (items) => backend.call('POST /api/chat/queue/combine', { session_id, items }),
    remove: (item) => backend.call('POST /api/chat/queue/remove', { session_id, item }),
    send: (item, stop) => backend.call('POST /api/chat/queue/send', { session_id, item, ...(stop ? { stop, run: facts.run()?.id } : {}) }),
    restore: ({ text, attachments }, before) => backend.call('POST /api/chat/queue', { session_id, message: text, ...(attachments ? { attachments: attachments.map(({ id }) => ({ id })) } : {}), key: parts.mintKey(), ...(before === undefined ? {} : { before }) }),
  }
  const paused = () => {
    const run = facts.run()
    return run && queuePaused(run) && run.outcome !== 'completed' ? (run.outcome ?? null) : null
  }
  const run = () => {
    const last = facts.run()
    return last && last.state !== 'settled' ? { stopping: last.state === 'stopping' } : null
  }
  return (
    <QueueCard
      queue={facts.queue()}
      run={run()}
      paused={paused()}
      // What a copy shows may have gone long ago.
      online={props.online && facts.freshness() === 'live'}
      fresh={props.fresh}
      orders={orders}
      announce={notices.announce}
      toast={({ text, undo }) => void notices.toast({ kind: 'plain', icon: undo ? 'trash' : 'list-plus', text, ...(undo ? { action: undo } : {}) })}
      give={props.give}
      kept={makeKeptChange(parts.drafts, session_id)}
      onLeft={() => props.onLeft()}
    />
  )
}
