import type { Choice } from '../contract/approvals'
import type { Draft } from '../contract/events'
import { Refusal } from '../contract/problems'
import type { SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import { answer, tell } from './answering'
import { onceOf } from './asking'
import { decision } from './decide'
import type { Question } from './questions'
import { wordsOf } from './words'
import type { LiveRun } from './run'

/** What the switch needs of a chat: its live run, and the append of a change that is made of the head in one tick. */
export interface SwitchedSession {
  readonly live: LiveRun | null
  change(profile: ProfileContext, change: (head: SessionHead) => Draft[]): Promise<SessionHead>
}

/**
 * The switch of a chat that answers every question with its *once* (`approvals: 'all'`).
 *
 * Linearisation: in one tick it is seen that no question is open that has a *once*, the run is told to answer new ones by itself, and
 * `session.changed` is handed to the ledger. A question before this tick is in the log before the change and was answered by the enabling
 * (`decided` by `auto`, then the agent); one after it is raised and decided in one append. So each is answered once. If a relay fails the enabling is refused
 * with `relay_failed` before that tick, and the switch is as it was. Enablings go one after another, and one that succeeds counts; a person who switches off
 * is obeyed at once, and no enabling that began before brings it back. Never *session* or *always*; a person's own answer that is on its way is left alone.
 */
export class AutoApprove {
  #offs = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(private readonly session: SwitchedSession) {}

  set(profile: ProfileContext, enabled: boolean): Promise<SessionHead> {
    if (!enabled) {
      this.#offs++
      return this.session.change(profile, (head) => this.#commit(head, false))
    }
    const offs = this.#offs
    const mine = this.#last.then(() => this.#enable(profile, offs))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #enable(profile: ProfileContext, offs: number): Promise<SessionHead> {
    for (;;) {
      await this.#answerOpen(profile, offs)
      let more = false
      const head = await this.session.change(profile, (now) => {
        if (this.#offs !== offs) return []
        more = this.#open(profile).length > 0
        return more ? [] : this.#commit(now, true)
      })
      if (!more) return head
    }
  }

  async #answerOpen(profile: ProfileContext, offs: number): Promise<void> {
    for (;;) {
      const run = this.session.live
      const [next] = this.#offs === offs ? this.#open(profile) : []
      if (!run || !next) return
      try {
        await answer(run, next.question, decision(run, next.question, next.once, 'auto'))
      } catch (error) {
        // One that has ended meanwhile needs no answer any more.
        if (!(error instanceof Refusal) || error.problem.code !== 'question_gone') throw error
      }
    }
  }

  /** What is asked and can be answered; a run that takes no answers any more asks nothing. */
  #open(profile: ProfileContext): { question: Question; once: Choice }[] {
    const run = this.session.live
    if (!run || run.profile !== profile.name || run.mailbox.closed) return []
    return run.journal.questions.open('approval').flatMap((question) => {
      const once = onceOf(question)
      return once ? [{ question, once }] : []
    })
  }

  #commit(head: SessionHead, all: boolean): Draft[] {
    const run = this.session.live
    if (run) run.journal.asking.auto = all
    return (head.approvals === 'all') === all ? [] : [{ type: 'session.changed', approvals: all ? 'all' : 'ask' }]
  }
}

/** Tells the agent the *once* that was logged with its question. Where that fails the person sees the card, with a word why. */
export function tellAuto(run: LiveRun, question: Question, choice: Choice, committed: Promise<void>): void {
  const told = run.mailbox.post(async () => {
    await committed
    await tell(run, question, decision(run, question, choice, 'auto'))
  })
  told.catch((error: unknown) => {
    if (error instanceof Refusal && error.problem.code === 'relay_failed') run.journal.notice('auto_approve_failed', undefined, error.problem.words ?? wordsOf(error))
  })
}
