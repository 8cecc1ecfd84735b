import { batch, createMemo, createSignal, type Accessor } from 'solid-js'
import { ProblemError } from '../backend/port'
import type { OpenQuestion } from '../sync/reactive'
import type { Phase } from './port'
import { isGone, refusalOf } from './words'

/** Why the last answer on a row was not taken. `again`: a relay that failed asks anew, with another id on the same row (spec/log.md §9). */
interface Failed { question: string; row: string; reason: string; again: boolean }

/** What is given: `choice` names the button that shows it, `done` is said once it was taken. */
export interface Answer { question: OpenQuestion; choice: string; work: () => Promise<void>; done: string }

export interface Answering {
  /** The question whose answer is on its way: its card stays, because whether it was taken is not known yet. */
  held: Accessor<OpenQuestion | null>
  phaseOf: (question: OpenQuestion | undefined) => Phase
  /** Answered from here: what becomes of it is no news. */
  own: (question: string) => boolean
  /** Asked anew because the last answer did not reach the agent: that is told as a failure, not as news. */
  again: (question: OpenQuestion) => boolean
  send: (answer: Answer) => void
}

export interface AnsweringParts {
  announce: (text: string) => void
  /** The answer was taken. */
  onTaken: (question: OpenQuestion) => void
  /** It was not; the question may be gone. */
  onRefused: (question: OpenQuestion) => void
}

/** Answers on their way and what became of them. One at a time: the card takes nothing more meanwhile. */
export function createAnswering(parts: AnsweringParts): Answering {
  const [sent, setSent] = createSignal<{ question: OpenQuestion; choice: string } | null>(null)
  const [over, setOver] = createSignal(new Set<string>())
  const [failed, setFailed] = createSignal<Failed | null>(null)
  const own = new Set<string>()
  const held = createMemo(() => sent()?.question ?? null)

  const send = ({ question, choice, work, done }: Answer) => {
    const { id, row } = question.asked
    own.add(id)
    batch(() => {
      setFailed(null)
      setSent({ question, choice })
    })
    const end = (then: () => void) => batch(() => {
      setSent(null)
      then()
    })
    void work().then(
      () => {
        // It leaves with the event; until then it takes nothing more.
        end(() => setOver((all) => new Set(all).add(id)))
        parts.onTaken(question)
        parts.announce(done)
      },
      (error: unknown) => {
        own.delete(id)
        end(() => {
          if (isGone(error)) setOver((all) => new Set(all).add(id))
          else setFailed({ question: id, row, reason: refusalOf(error), again: error instanceof ProblemError && error.code === 'relay_failed' })
        })
        parts.onRefused(question)
      },
    )
  }
  return {
    held,
    own: (id) => own.has(id),
    again: ({ asked }) => failed()?.again === true && failed()!.row === asked.row,
    phaseOf: (question) => {
      const last = failed()
      if (sent()) return { at: 'sending', choice: sent()!.choice }
      if (!question) return { at: 'asking' }
      const { id, row } = question.asked
      if (over().has(id)) return { at: 'gone', own: own.has(id) }
      return last && (last.question === id || (last.again && last.row === row)) ? { at: 'failed', reason: last.reason } : { at: 'asking' }
    },
    send,
  }
}
