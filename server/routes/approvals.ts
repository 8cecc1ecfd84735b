import type { Approval, Choice, ChoiceKind } from '../contract/approvals'
import type { InputOf } from '../contract/routes'
import { Refusal } from '../contract/problems'
import { loadSession } from './load'
import { isYes } from './parse'
import { headOf, openIn, pendingOf } from './pending'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** The original's words for the kinds of choices, and those that older clients of its gateway still send. */
const WORDS: Record<string, ChoiceKind> = {
  once: 'once', session: 'session', always: 'always', deny: 'deny', deny_always: 'deny_always', approve: 'once', approved: 'once', allow: 'once', denied: 'deny', reject: 'deny',
}

type Names = 'GET /api/approval/pending' | 'POST /api/approval/respond' | 'GET /api/session/yolo' | 'POST /api/session/yolo'

/** Questions of a chat about what it may do, and their answers; and the switch that answers them all with *once*. */
export function approvals({ store, runs }: Pick<Parts, 'store' | 'runs'>): Handlers<Names> {
  /** Questions whose answer is on its way to the agent: a second one meanwhile is refused (settlement.md §7.3). */
  const answering = new Set<string>()

  const decide = async (id: string, answer: () => Promise<unknown>): Promise<void> => {
    answering.add(id)
    try {
      await answer()
    } finally {
      answering.delete(id)
    }
  }

  return {
    async 'GET /api/approval/pending'({ input }) {
      return pendingOf.approval(input.session_id, openIn((await loadSession(store, input.session_id)).tail))
    },
    async 'POST /api/approval/respond'({ input, profile }) {
      const session = input.session_id
      const yolo = isYes(input.yolo)
      const asked = askedFor(input, yolo)
      const open = openIn((await loadSession(store, session)).tail).approvals
      const id = input.approval_id || headOf(open)?.id
      if (id !== undefined && answering.has(id)) throw new Refusal('question_gone', 'This question is being answered already')
      // The original's words: nothing is asked at all, so the card may go; something else is asked, so this answer was for nothing.
      const question = open.find((each) => each.id === id)
      if (open.length > 0 && id !== undefined && !question) return { ok: false, choice: asked.word }
      if (open.length > 0 && !question) throw new Refusal('question_gone', 'Nothing can be answered yet: the agent asks something else first')
      if (question) {
        const choice = choiceOf(question, asked)
        await decide(question.id, () => runs.decide(profile, { session, approval: question.id, choice: choice.id }))
      }
      if (yolo) await runs.approveAll(profile, session, true)
      return {
        ok: true, choice: asked.word, ...(asked.id === undefined ? {} : { choice_id: asked.id }), ...(question ? {} : { stale_cleared: true }), ...(yolo ? { yolo_enabled: true } : {}),
      }
    },
    async 'GET /api/session/yolo'({ input }) {
      return { yolo_enabled: (await loadSession(store, input.session_id)).head.approvals === 'all' }
    },
    async 'POST /api/session/yolo'({ input, profile }) {
      const head = await runs.approveAll(profile, input.session_id, isYes(input.enabled))
      return { ok: true, yolo_enabled: head.approvals === 'all' }
    },
  }
}

/** By the id of a choice, or by its kind; `word` is how it is told back. */
interface Asked { word: string; id?: string; kind?: ChoiceKind }

function askedFor(input: InputOf<'POST /api/approval/respond'>, yolo: boolean): Asked {
  if (input.choice_id) return { word: input.choice ?? input.choice_id, id: input.choice_id }
  const word = (input.choice ?? (yolo ? 'once' : '')).trim().toLowerCase()
  if (word === '') throw new Refusal('bad_request', 'choice is required')
  const kind = Object.hasOwn(WORDS, word) ? WORDS[word]! : undefined
  if (!kind) throw new Refusal('invalid_choice', 'choice must be once, session, always or deny')
  return { word: kind, kind }
}

/** The first offered of a kind; what the agent did not offer is never sent to it (spec/agents.md §3). */
function choiceOf(question: Approval, asked: Asked): Choice {
  const choice = question.choices.find(({ id, kind }) => (asked.id === undefined ? kind === asked.kind : id === asked.id))
  if (!choice) throw new Refusal('invalid_choice', 'The agent did not offer this choice')
  return choice
}
