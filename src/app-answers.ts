import type { Choice } from '../server/contract/approvals'
import type { KeptAnswer, Typed } from './approvals/port'
import { ProblemError, type Backend } from './backend/port'
import type { Drafts } from './composer/drafts'
import type { OpenApproval, OpenClarify, OpenSecret } from './sync/reactive'

/**
 * What a person answers to the questions of one chat. Each resolves when the answer is committed and the agent has it, and rejects with
 * `ProblemError` where it was not taken. Nothing of a secret is kept here.
 */
export function makeAnswers(backend: Backend, session: string) {
  return {
    /** Exactly this choice of this permission. */
    decide: async (request: OpenApproval, choice: Choice): Promise<void> => {
      const answer = await backend.call('POST /api/approval/respond', { session_id: session, approval_id: request.id, choice_id: choice.id })
      if (!answer.ok || answer.stale_cleared) throw new ProblemError(409, { error: 'The question is not open any more.', code: 'question_gone' })
    },
    reply: async (question: OpenClarify, text: string): Promise<void> => {
      await backend.call('POST /api/clarify/respond', { session_id: session, clarify_id: question.id, response: text })
    },
    give: async (secret: OpenSecret, value: string | null): Promise<void> => {
      await backend.call('POST /api/secret/respond', { session_id: session, secret_id: secret.id, ...(value === null ? { cancel: true } : { value }) })
    },
    /** Whether the chat allows everything without asking. */
    allowAll: async (enabled: boolean): Promise<void> => {
      await backend.call('POST /api/session/yolo', { session_id: session, enabled })
    },
  }
}

/** A half-written answer lies where the drafts of the message box lie, under a name of its own. */
export function answerName(session: string): string {
  return `answer.${session}`
}

export function makeKeptAnswer(drafts: Drafts, session: string): KeptAnswer {
  const name = answerName(session)
  return {
    load: async () => parse((await drafts.load(name)).text),
    keep: (typed) => drafts.note(name, typed ? JSON.stringify(typed) : ''),
  }
}

function parse(text: string): Typed | null {
  if (text === '') return null
  try {
    const value = JSON.parse(text) as Partial<Typed>
    return typeof value.question === 'string' && typeof value.text === 'string' ? { question: value.question, text: value.text } : null
  } catch {
    return null
  }
}
