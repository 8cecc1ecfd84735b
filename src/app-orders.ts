import type { Accessor } from 'solid-js'
import { t } from '../i18n'
import type { Given } from './composer/tray-port'
import type { Delivered, Way } from './composer/way'
import type { InputOf } from '../server/contract/routes'
import type { ModelRef, Run } from '../server/contract/session'
import { ProblemError, type Backend } from './backend/port'
import { reasonOf } from './shell/reason'
import type { Notices } from './ui/notices'

export interface OrdersParts {
  backend: () => Backend
  notices: Notices
  /** The open chat; null while it is an empty one that the server does not know. */
  session: Accessor<string | null>
  /** The run that is under way. */
  live: Accessor<Run | null>
  /** The model that a new chat begins with; null leaves it to the server. */
  picked: Accessor<ModelRef | null>
  setPicked: (model: ModelRef | null) => void
  /** The same for how hard it is to think. */
  pickedEffort: Accessor<string | null>
  setPickedEffort: (effort: string | null) => void
  onStarted: (session: string) => void
}

/** What a person orders of the chat in front of them. A refusal rejects with `ProblemError` where the surface shows it, and is a notice elsewhere. */
export function makeOrders(parts: OrdersParts) {
  const { backend, notices, session, live } = parts
  /** An empty chat whose first message was refused: the next attempt goes into it. */
  let made: string | null = null

  /** Sends a message; the first one makes the chat. A chat that works already takes it another way. Rejects when nobody knows whether it was taken. */
  const send = async (text: string, key: string, way: Way, going: (way: Way) => void, given?: Given): Promise<Delivered> => {
    const open = session()
    const run = live()?.id
    // The files of a chat that does not exist yet have made it.
    let id = open ?? given?.session ?? made
    const attachments = given && { attachments: given.ids.map((file) => ({ id: file })) }
    // What a working chat takes is loaded when one works.
    if (id && way !== 'send') return (await import('./app-busy')).sendBusy({ backend: backend(), session: id, run, text, key, going, ...attachments }, way)
    if (!id) id = made = await make(key)
    try {
      await backend().call('POST /api/chat/start', { session_id: id, message: text, key, ...attachments })
    } catch (error) {
      if (!open || !(error instanceof ProblemError) || error.code !== 'session_busy') throw error
      return (await import('./app-busy')).sendBusy({ backend: backend(), session: id, text, key, going, ...attachments }, 'busy')
    }
    if (open) return { taken: true }
    made = null
    parts.setPicked(null)
    parts.setPickedEffort(null)
    parts.onStarted(id)
    return { taken: true, chat: id }
  }

  /** A chat with the model and the effort that were picked; the same key makes it once. */
  const make = async (key: string): Promise<string> => {
    const [chosen, effort] = [parts.picked(), parts.pickedEffort()]
    const answer = await backend().call('POST /api/session/new', { key, ...(chosen ? { model: chosen.id, model_provider: chosen.provider } : {}), ...(effort === null ? {} : { effort }) })
    return answer.session.session_id
  }

  /** Stops the run that is under way. A failure is told here, and rejects. */
  const stop = async (): Promise<void> => {
    const run = live()
    if (!run) return
    try {
      const answer = await backend().call('GET /api/chat/cancel', { stream_id: run.id })
      if (!answer.cancelled) notices.toast({ kind: 'plain', text: t('composer.stop.none') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('composer.stop.failed', { reason: reasonOf(error) }) })
      throw error
    }
  }

  /** Another model from the next message on. Never rejects. */
  const chooseModel = async (chosen: ModelRef): Promise<void> => {
    const id = session()
    if (!id) {
      parts.setPicked(chosen)
      // Which efforts this one takes is not known here.
      parts.setPickedEffort(null)
      return
    }
    await update({ session_id: id, model: chosen.id, model_provider: chosen.provider })
  }

  /** How hard it thinks from the next message on; null: the agent's own measure. Never rejects. */
  const chooseEffort = async (effort: string | null): Promise<void> => {
    const id = session()
    if (id) await update({ session_id: id, effort })
    else parts.setPickedEffort(effort)
  }

  const update = async (change: InputOf<'POST /api/session/update'>): Promise<void> => {
    try {
      await backend().call('POST /api/session/update', change)
      if (live()) notices.toast({ kind: 'plain', text: t('composer.model.kept') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('composer.model.notChanged', { reason: reasonOf(error) }) })
    }
  }

  return { send, stop, make, chooseModel, chooseEffort }
}
