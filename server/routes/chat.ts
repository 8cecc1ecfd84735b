import { Refusal } from '../contract/problems'
import { seconds } from './compact'
import { attaching } from './attaching'
import { keyOf } from './key'
import { streamNotFound } from './load'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** Starting, looking at and stopping runs. What the original calls a stream is a run. */
export function chat({ store, runs, offers, attachments }: Pick<Parts, 'store' | 'runs' | 'offers' | 'attachments'>): Handlers<'POST /api/chat/start' | 'GET /api/chat/stream/status' | 'GET /api/chat/cancel'> {
  return {
    async 'POST /api/chat/start'({ input, profile, header }) {
      if (input.profile != null && input.profile !== profile.name) throw new Refusal('bad_request', 'invalid profile')
      const attach = attaching(attachments, input)
      if (input.retry === undefined ? blank(input.message) && !input.attachments?.length : input.message !== undefined) throw new Refusal('message_required', 'message is required')
      const idempotency = keyOf(input, header('idempotency-key'))
      const started = await runs.start(profile, {
        session: input.session_id,
        ...(input.retry === undefined ? { text: input.message ?? '', ...(attach ? { attach } : {}) } : { retry: input.retry }),
        ...(input.replace_from === undefined ? {} : { replaceFrom: input.replace_from }),
        ...idempotency,
        lookUp: (agent, now) => offers.resolve(profile, agent, input, now),
        ...(input.workspace == null ? {} : { workspace: input.workspace }),
      })
      return {
        stream_id: started.run,
        session_id: started.session,
        turn_id: started.turn,
        pending_started_at: seconds(started.startedAt),
        title: started.title,
        ...(started.model ? { effective_model: started.model.id, effective_model_provider: started.model.provider } : {}),
      }
    },
    async 'GET /api/chat/stream/status'({ input }) {
      const found = await store.run(input.stream_id)
      if (!found) throw streamNotFound()
      return {
        active: found.run.state === 'running',
        stream_id: input.stream_id,
        session_id: found.session,
        replay_available: true,
        state: found.run.state,
        ...(found.run.outcome ? { outcome: found.run.outcome } : {}),
      }
    },
    async 'GET /api/chat/cancel'({ input, profile }) {
      const { cancelled, session } = await runs.stop(profile, input.stream_id, 'person')
      return { ok: true, cancelled, stream_id: input.stream_id, session_id: session }
    },
  }
}

function blank(text: string | undefined): boolean {
  return text === undefined || text.trim() === ''
}
