import { Refusal } from '../contract/problems'
import type { QueueAnswer } from '../contract/routes'
import type { Attach, QueueView } from '../runs/port'
import { seconds } from './compact'
import { attaching } from './attaching'
import { keyOf } from './key'
import { isYes } from './parse'
import type { Handlers } from './call'
import type { Parts } from './parts'

type Names =
  | 'GET /api/chat/queue' | 'POST /api/chat/queue' | 'POST /api/chat/queue/change' | 'POST /api/chat/queue/move' | 'POST /api/chat/queue/combine'
  | 'POST /api/chat/queue/remove' | 'POST /api/chat/queue/send'

/** Messages that wait for their turn: they belong to the chat and are the same on every device. Each verb answers the queue as it is then. */
export function queue({ runs, attachments }: Pick<Parts, 'runs' | 'attachments'>): Handlers<Names> {
  return {
    async 'GET /api/chat/queue'({ input, profile }) {
      return answerOf(await runs.queue(profile, input.session_id))
    },
    async 'POST /api/chat/queue'({ input, profile, header }) {
      const idempotency = keyOf(input, header('idempotency-key'))
      const attach = attaching(attachments, input)
      const added = await runs.enqueue(profile, { session: input.session_id, text: messageOf(input, attach), ...(attach ? { attach } : {}), ...(input.before ? { before: input.before } : {}), ...idempotency })
      return { ...answerOf(added), item: added.item }
    },
    async 'POST /api/chat/queue/change'({ input, profile }) {
      const attach = attaching(attachments, input)
      return answerOf(await runs.changeQueued(profile, { session: input.session_id, item: input.item, text: input.message ?? '', ...(attach ? { attach } : {}) }))
    },
    async 'POST /api/chat/queue/move'({ input, profile }) {
      return answerOf(await runs.moveQueued(profile, { session: input.session_id, item: input.item, ...(input.before ? { before: input.before } : {}) }))
    },
    async 'POST /api/chat/queue/combine'({ input, profile }) {
      return answerOf(await runs.combineQueued(profile, { session: input.session_id, items: input.items }))
    },
    async 'POST /api/chat/queue/remove'({ input, profile }) {
      const items = input.items ?? (input.item === undefined ? [] : [input.item])
      if (items.length === 0) throw new Refusal('bad_request', 'item is required')
      return answerOf(await runs.removeQueued(profile, { session: input.session_id, items }))
    },
    async 'POST /api/chat/queue/send'({ input, profile }) {
      return answerOf(await runs.sendQueued(profile, { session: input.session_id, item: input.item, ...(isYes(input.stop) ? { stop: true } : {}), ...(input.run === undefined ? {} : { run: input.run }) }))
    },
  }
}

function messageOf({ message = '' }: { message?: string }, attach: Attach | undefined): string {
  if (message.trim() === '' && !attach) throw new Refusal('message_required', 'message is required')
  return message
}

function answerOf({ queue, paused }: QueueView): QueueAnswer {
  return { items: queue.items.map(({ id, text, addedAt, by, send, attachments }) => ({ id, message: text, added_at: seconds(addedAt), by, ...(send ? { send } : {}), ...(attachments ? { attachments: [...attachments] } : {}) })), paused }
}
