import { createHash } from 'node:crypto'
import type { ApprovalRequest, Choice, ChoiceKind } from '../../contract/approvals'
import type { ClarifyRequest, SecretRequest } from '../../contract/questions'
import type { Sink } from '../port'
import type { Asked } from './asked'
import type { Memory } from './memory'
import type { Pace } from './pace'

/** How a scripted turn asks: each question is raised, waited for, and taken back when nobody answers in time. */
export class Asking {
  constructor(private readonly p: { sink: Sink; pace: Pace; session: string; memory: Memory; asked: Asked }) {}

  /** Raises a question and resolves with the kind of the choice, or `over` when nobody answers in time. */
  async ask(request: ApprovalRequest, more: { call?: string; ms?: number; quiet?: boolean } = {}): Promise<ChoiceKind | 'over'> {
    const question = this.p.asked.handle()
    const { call, ms } = more
    const raised: ApprovalRequest = { ...request, ...(ms === undefined ? {} : { deadline: this.p.pace.now() + ms }) }
    const answer = await this.p.asked.wait(question, 'choice', () => void this.p.sink({ type: 'question.raised', question, foreign: question, ...(call === undefined ? {} : { call }), request: raised }), ms)
    if (answer.kind === 'choice') return kindOf(request.choices, answer.text)
    await this.expire(question, more.quiet)
    return 'over'
  }

  /** The same, unless the person allowed or refused exactly this command before; what they say beyond once is kept. */
  async permit(request: ApprovalRequest & { command: string }, more: { call?: string; ms?: number; quiet?: boolean } = {}): Promise<ChoiceKind | 'over'> {
    const { memory, session } = this.p
    const before = memory.of(session, request.command)
    if (before !== null) return before === 'allowed' ? 'once' : 'deny'
    const kind = await this.ask(request, more)
    if (kind !== 'over') memory.keep(session, request.command, kind)
    return kind
  }

  /** Asks a clarifying question; what is answered, or null. */
  async clarify(request: ClarifyRequest, more: { ms?: number; quiet?: boolean } = {}): Promise<string | null> {
    const question = this.p.asked.handle()
    const raised: ClarifyRequest = { ...request, ...(more.ms === undefined ? {} : { deadline: this.p.pace.now() + more.ms }) }
    const answer = await this.p.asked.wait(question, 'text', () => void this.p.sink({ type: 'clarify.raised', question, foreign: question, request: raised }), more.ms)
    if (answer.kind === 'text') return answer.text
    await this.expire(question, more.quiet)
    return null
  }

  /** Asks for a secret; what is said of what came, never the value. `expect`: SHA-256 of the right one, hex. */
  async secret(request: SecretRequest, ms: number | undefined, expect: string | undefined): Promise<string> {
    const question = this.p.asked.handle()
    const raised: SecretRequest = { ...request, ...(ms === undefined ? {} : { deadline: this.p.pace.now() + ms }) }
    const answer = await this.p.asked.wait(question, 'secret', () => void this.p.sink({ type: 'secret.raised', question, request: raised }), ms)
    if (answer.kind !== 'secret') await this.expire(question)
    const given = answer.kind === 'secret' && answer.value !== null
    const right = given && expect !== undefined && createHash('sha256').update(answer.value!).digest('hex') === expect
    return !given ? '(secret not given) ' : expect === undefined ? '(secret given) ' : right ? '(the right secret was given) ' : '(another secret was given) '
  }

  /** The agent waits for it no more; `quiet`: and does not say so. */
  async expire(question: string, quiet = false): Promise<void> {
    if (!quiet) await this.p.sink({ type: 'question.withdrawn', question, why: 'expired' })
  }
}

/** Whether a choice lets it happen. */
export function isYes(kind: ChoiceKind | 'over'): boolean {
  return kind === 'once' || kind === 'session' || kind === 'always'
}

/** An id that was not offered is taken for no. */
function kindOf(choices: Choice[], id: string): ChoiceKind {
  return choices.find((choice) => choice.id === id)?.kind ?? 'deny'
}
