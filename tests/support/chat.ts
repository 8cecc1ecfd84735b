import type { ApprovalRequest } from '../../server/contract/approvals'
import type { Draft, Event } from '../../server/contract/events'
import { posAfter } from '../../server/contract/ids'
import type { AgentRef, RunOutcome } from '../../server/contract/session'
import type { Append } from '../../server/store/port'

const AGENT: AgentRef = { kind: 'scripted', name: 'Scripted' }
const REQUEST: ApprovalRequest = { action: 'Run make', tool: 'shell', command: 'make', choices: [{ id: 'y', kind: 'once' }, { id: 'n', kind: 'deny' }] }

/**
 * Writes the appends of one chat by hand, one call one append: for tests that need a certain event and not any history. It knows the session's counters and
 * nothing else; to be refused is up to the test.
 */
export class Chat {
  seq = 0
  generation = 0
  #n = 0
  #pos = ''

  constructor(readonly session: string, readonly profile = 'default') {}

  /** Any drafts as the next append. `at` is the clock's ms. */
  append(drafts: Draft[], more: Partial<Append> & { at?: number } = {}): Append {
    const { at = 1000, ...rest } = more
    const events = drafts.map((draft) => ({ ...draft, session: this.session, seq: ++this.seq, at }) as Event)
    return { session: this.session, expectSeq: events[0]?.seq ?? this.seq + 1, events, urgency: 'now', generation: this.generation, ...rest }
  }

  created(more: Partial<Append> & { at?: number; title?: string } = {}): Append {
    const { title = 'A chat', ...rest } = more
    return this.append([{ type: 'session.created', title, titleBy: 'provisional', profile: this.profile, workspace: '/w', agent: null, model: null, source: 'talaria' }], rest)
  }

  /** The user row is `row_<turn>`. */
  admitted(turn: string, text: string, more: Partial<Append> & { at?: number } = {}): Append {
    this.generation++
    return this.append([
      { type: 'turn.admitted', turn, row: `row_${turn}`, ...this.place(), text, source: 'person' },
      { type: 'run.started', run: this.run(turn), turn, generation: this.generation, attempt: 1, cause: 'sent', agent: AGENT, model: null },
    ], { generation: this.generation, ...more })
  }

  /** Opens an answer of the turn's run. */
  opened(turn: string, row: string, text = '', more: Partial<Append> = {}): Append {
    return this.append([{ type: 'row.opened', row, ...this.place(), turn, run: this.run(turn), kind: 'answer', text }], more)
  }

  asked(turn: string, row: string, approval: string): Append {
    return this.append([
      { type: 'row.opened', row, ...this.place(), turn, run: this.run(turn), kind: 'question' },
      { type: 'approval.raised', approval, row, run: this.run(turn), request: REQUEST },
    ])
  }

  grew(turn: string, row: string, at0: number, text: string, more: Partial<Append> = {}): Append {
    return this.append([{ type: 'row.grew', row, run: this.run(turn), at0, text }], { urgency: 'soon', ...more })
  }

  closed(turn: string, row: string): Append {
    return this.append([{ type: 'row.closed', row, run: this.run(turn), state: 'done', duration: 5 }])
  }

  settled(turn: string, outcome: RunOutcome = 'completed'): Append {
    return this.append([{ type: 'run.settled', run: this.run(turn), turn, outcome, timings: { total: 10 } }])
  }

  /** A run's id is unique in the store. */
  run(turn: string): string {
    return `run_${this.session}_${turn}`
  }

  /** Puts the counter back after a refusal. */
  undo(append: Append): void {
    this.seq = append.expectSeq - 1
  }

  place(): { n: number; pos: string } {
    this.#pos = posAfter(this.#pos)
    return { n: ++this.#n, pos: this.#pos }
  }
}
