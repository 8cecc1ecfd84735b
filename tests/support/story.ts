import type { Draft, Event } from '../../server/contract/events'
import { apply, emptyTranscript } from '../../server/contract/fold'
import { posAfter } from '../../server/contract/ids'
import type { AgentRef, Run, Transcript } from '../../server/contract/session'

const AGENT: AgentRef = { kind: 'scripted', name: 'Scripted' }
type Payload<T extends Draft['type']> = Omit<Extract<Draft, { type: T }>, 'type'>
type Settling = Partial<Payload<'run.settled'>>

/** Writes a session's events by hand, with the numbers filled in: rows are named by the test, one second passes per event. */
export class Story {
  readonly events: Event[] = []
  readonly value: Transcript = emptyTranscript()
  #n = 0
  #pos = ''
  #turn = ''
  #run = ''
  #generation = 0
  #attempts = new Map<string, number>()
  #lengths = new Map<string, number>()

  constructor(readonly session = 'ses_1') {
    this.say({ type: 'session.created', title: 'A chat', titleBy: 'provisional', profile: 'default', workspace: '/w', agent: null, model: null, source: 'talaria' })
  }

  /** Applies a draft as the next event and keeps it. */
  say(draft: Draft): this {
    const seq = this.events.length + 1
    const event = { ...draft, session: this.session, seq, at: seq * 1000 } as Event
    const applied = apply(this.value, event)
    if (applied.state !== 'applied') throw new Error(`${draft.type} as event ${seq}: ${applied.state}`)
    this.events.push(event)
    return this
  }

  /** A turn and its first run. */
  ask(turn: string, text: string): this {
    const { n, pos } = this.#place()
    this.#turn = turn
    return this.say({ type: 'turn.admitted', turn, row: `${turn}.ask`, n, pos, text, source: 'person' }).run(`${turn}.run`)
  }

  run(run: string, cause: Run['cause'] = 'sent', reopens?: string[]): this {
    this.#run = run
    const attempt = (this.#attempts.get(this.#turn) ?? 0) + 1
    this.#attempts.set(this.#turn, attempt)
    return this.say({ type: 'run.started', run, turn: this.#turn, generation: ++this.#generation, attempt, cause, agent: AGENT, model: { provider: 'p', id: 'm-1' }, ...(reopens ? { reopens } : {}) })
  }

  think(row: string, text = ''): this {
    this.#lengths.set(row, text.length)
    return this.say({ type: 'row.opened', kind: 'thought', ...this.#opening(row), text })
  }

  answer(row: string, text = ''): this {
    this.#lengths.set(row, text.length)
    return this.say({ type: 'row.opened', kind: 'answer', ...this.#opening(row), text })
  }

  tool(row: string, tool: Partial<Extract<Draft, { kind: 'tool' }>['tool']> = {}): this {
    return this.say({ type: 'row.opened', kind: 'tool', ...this.#opening(row), tool: { call: `${row}.call`, name: 'read_file', verb: 'read', ...tool } })
  }

  grow(row: string, text: string): this {
    const at0 = this.#lengths.get(row)!
    this.#lengths.set(row, at0 + text.length)
    return this.say({ type: 'row.grew', row, run: this.#run, at0, text })
  }

  close(row: string, more: Partial<Payload<'row.closed'>> = {}): this {
    return this.say({ type: 'row.closed', row, run: this.#run, state: 'done', duration: 500, ...more })
  }

  /** Asks on an open tool or question row. */
  raise(row: string, approval: string, more: Partial<Payload<'approval.raised'>['request']> = {}): this {
    const request = { action: 'Run make', command: 'make', tool: 'shell', choices: [{ id: 'y', kind: 'once' as const }, { id: 'n', kind: 'deny' as const }], ...more }
    return this.say({ type: 'approval.raised', approval, row, run: this.#run, request })
  }

  decide(row: string, approval: string, kind: 'once' | 'deny' = 'once'): this {
    return this.say({ type: 'approval.decided', approval, row, run: this.#run, choice: kind === 'once' ? 'y' : 'n', kind, by: 'person' })
  }

  /** A clarifying question on a row of its own, opened here. */
  clarify(row: string, id: string, more: Partial<Payload<'clarify.raised'>['request']> = {}): this {
    return this.question(row).say({ type: 'clarify.raised', clarify: id, row, run: this.#run, request: { question: 'Which one?', choices: ['left', 'right'], free: true, ...more } })
  }

  reply(row: string, clarify: string, answer: string): this {
    return this.say({ type: 'clarify.answered', clarify, row, run: this.#run, answer })
  }

  /** A secret is asked for on a row of its own, opened here. */
  secret(row: string, id: string, more: Partial<Payload<'secret.raised'>['request']> = {}): this {
    return this.question(row).say({ type: 'secret.raised', secret: id, row, run: this.#run, request: { kind: 'secret', prompt: 'The key of the shop', env: 'SHOP_KEY', ...more } })
  }

  give(row: string, secret: string, given = true): this {
    return this.say({ type: 'secret.answered', secret, row, run: this.#run, given })
  }

  /** A word into the run, accepted. */
  steer(row: string, steer: string, text: string): this {
    return this.say({ type: 'row.opened', kind: 'steer', ...this.#opening(row), text }).say({ type: 'steer.accepted', steer, row, run: this.#run })
  }

  delivered(row: string, steer: string, evidence: 'seen' | 'inferred' = 'seen'): this {
    return this.say({ type: 'steer.delivered', steer, row, run: this.#run, evidence }).close(row)
  }

  returned(row: string, steer: string, to: 'queue' | 'draft', item?: string): this {
    return this.say({ type: 'steer.returned', steer, row, run: this.#run, to, ...(item ? { item } : {}) }).close(row, { state: 'cancelled' })
  }

  plan(row: string, plan: Payload<'plan.replaced'>['plan']): this {
    return this.say({ type: 'row.opened', kind: 'plan', ...this.#opening(row), plan })
  }

  replan(row: string, plan: Payload<'plan.replaced'>['plan']): this {
    return this.say({ type: 'plan.replaced', row, run: this.#run, plan })
  }

  queue(item: string, text: string, more: Partial<Payload<'queue.added'>> = {}): this {
    return this.say({ type: 'queue.added', item, text, by: 'person', ...more })
  }

  stop(): this {
    return this.say({ type: 'run.stopping', run: this.#run, turn: this.#turn, by: 'person' })
  }

  settle(more: Settling = {}): this {
    return this.say({ type: 'run.settled', run: this.#run, turn: this.#turn, outcome: 'completed', timings: { total: 4000, firstToken: 250 }, ...more })
  }

  notice(row: string, code: string, words?: string): this {
    return this.say({ type: 'row.opened', kind: 'notice', ...this.#opening(row), notice: { code, ...(words ? { words } : {}) } })
  }

  question(row: string): this {
    return this.say({ type: 'row.opened', kind: 'question', ...this.#opening(row) })
  }

  #opening(row: string): { row: string; n: number; pos: string; turn: string; run: string } {
    return { row, ...this.#place(), turn: this.#turn, run: this.#run }
  }

  #place(): { n: number; pos: string } {
    this.#pos = posAfter(this.#pos)
    return { n: ++this.#n, pos: this.#pos }
  }
}
