import { begin } from './arguments'
import type { Row, RowBase, RowState, ToolHead, TurnSource } from './rows'
import { TOOL_TEXT_LIMIT } from './rows'
import type { OriginalMessage } from './routes/shapes'
import type { Turn } from './session'

/** What `fromMessages` is given from outside: it mints nothing and reads no clock. */
export interface FromParts {
  mint(kind: 'trn' | 'row' | 'str'): string
  /** The next number and place, in the order of the rows. */
  place(): { n: number; pos: string }
  /** `seq` of the event that brings them. */
  seq: number
  /** What a tool does, and to what. */
  describe(call: string, name: string, args: unknown): Pick<ToolHead, 'verb' | 'target'>
  /** The turn that messages before the first user's belong to; absent: they get a turn of their own with an empty question, that the agent began. */
  turn?: string
}

/** `shows`: of each message the row that shows it; one without words and tools is shown by the row before it, or by none (null). */
export interface FromMessages { turns: Turn[]; rows: Row[]; shows: (string | null)[] }

const SOURCES: readonly string[] = ['person', 'queue', 'wakeup', 'goal', 'agent'] satisfies TurnSource[]

/**
 * The inverse of `toMessages`, as far as messages can say: turns, questions, thoughts, answers, tools with their results, and words that a run took. What a run was (its
 * outcome, its figures) and what its error message says does not come back: such turns have no run of ours. Rows are closed. A tool whose result is missing is `unknown`.
 */
export function fromMessages(messages: readonly OriginalMessage[], parts: FromParts): FromMessages {
  const made = new Maker(parts)
  const shows = messages.map((message) => made.take(message))
  return { turns: made.turns, rows: made.rows, shows }
}

class Maker {
  readonly turns: Turn[] = []
  readonly rows: Row[] = []
  #turn: string | undefined
  /** Index of the row of each call, by its id; the newest. */
  #calls = new Map<string, number>()

  constructor(private readonly p: FromParts) {
    this.#turn = p.turn
  }

  take(message: OriginalMessage): string | null {
    const at = Math.round(numberIn(message.timestamp) * 1000)
    const text = typeof message.content === 'string' ? message.content : ''
    const before = this.rows.at(-1)?.id ?? null
    if (message._error === true) return before
    if (message.role === 'user') return message.display_kind === 'steer' ? this.#steer(text, at) : this.#open(text, at, sourceOf(message))
    if (message.role === 'tool') return this.#close(message, text, at)
    return message.role === 'assistant' ? (this.#round(message, text, at) ?? before) : before
  }

  #open(text: string, at: number, source: TurnSource): string {
    const turn = this.p.mint('trn')
    this.#turn = turn
    const row = this.#push(at, text, { kind: 'user', source })
    const { id, pos } = row
    this.turns.push({ id: turn, row: id, pos, source, admittedAt: at, runs: [], seq: this.p.seq })
    return id
  }

  #steer(text: string, at: number): string {
    this.#within(at)
    return this.#push(at, text, { kind: 'steer', steer: { id: this.p.mint('str'), state: 'delivered', evidence: 'inferred' } }).id
  }

  /** What the model thought, said, and called then; the row of its words stands for it, else its first. */
  #round(message: OriginalMessage, text: string, at: number): string | null {
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls.map(callOf) : []
    const thought = typeof message.reasoning === 'string' ? message.reasoning : ''
    if (!text && !thought && calls.length === 0) return null
    this.#within(at)
    const first = thought ? this.#push(at, thought, { kind: 'thought' }).id : undefined
    const said = text ? this.#push(at, text, { kind: 'answer' }).id : undefined
    let called: string | undefined
    for (const { call, name, args } of calls) {
      const row = this.#push(at, '', { kind: 'tool', tool: { call, name, ...this.p.describe(call, name, args), ...(args === undefined ? {} : { args }) } }, 'unknown')
      this.#calls.set(call, this.rows.length - 1)
      called ??= row.id
    }
    return said ?? called ?? first ?? null
  }

  /** A result closes its call; one without a call is a tool of its own. */
  #close(message: OriginalMessage, text: string, at: number): string {
    this.#within(at)
    const call = String(message.tool_call_id ?? '')
    const name = typeof message.name === 'string' && message.name ? message.name : 'tool'
    let index = this.#calls.get(call)
    if (index === undefined) {
      this.#push(at, '', { kind: 'tool', tool: { call, name, ...this.p.describe(call, name, undefined) } })
      index = this.rows.length - 1
    }
    const row = this.rows[index]!
    if (row.kind !== 'tool') return row.id
    const cut = text.length > TOOL_TEXT_LIMIT
    const tool: ToolHead = { ...row.tool, ...(text ? { result: cut ? begin(text, TOOL_TEXT_LIMIT) : text } : {}), ...(cut ? { cut: true } : {}) }
    this.rows[index] = { ...row, state: stateOf(message), duration: Math.max(0, at - row.at), tool }
    return row.id
  }

  /** Words before any question: a turn that the agent began. */
  #within(at: number): void {
    if (this.#turn === undefined) this.#open('', at, 'agent')
  }

  #push(at: number, text: string, rest: RestOf<Row>, state: RowState = 'done'): Row {
    const base: RowBase = { id: this.p.mint('row'), ...this.p.place(), turn: this.#turn!, seq: this.p.seq, at, state, text }
    const row = { ...base, ...rest } as Row
    this.rows.push(row)
    return row
  }
}

type RestOf<T> = T extends unknown ? Omit<T, keyof RowBase> : never

function sourceOf({ _source: source }: OriginalMessage): TurnSource {
  return typeof source === 'string' && SOURCES.includes(source) ? (source as TurnSource) : 'person'
}

function stateOf(message: OriginalMessage): RowState {
  if (message.is_error !== true) return 'done'
  const state = message._state
  return state === 'cancelled' || state === 'denied' || state === 'unknown' ? state : 'failed'
}

/** A call in the original's form, or without its wrapping (spec/hermes-home.md §3.4); arguments are JSON in a string. */
function callOf(value: unknown, index: number): { call: string; name: string; args: unknown } {
  const outer = isObject(value) ? value : {}
  const inner = isObject(outer.function) ? outer.function : outer
  const given = typeof outer.id === 'string' && outer.id ? outer.id : typeof outer.call_id === 'string' ? outer.call_id : ''
  return { call: given || `call ${index + 1}`, name: typeof inner.name === 'string' && inner.name ? inner.name : 'tool', args: argsOf(inner.arguments) }
}

function argsOf(written: unknown): unknown {
  if (typeof written !== 'string') return written
  try {
    return JSON.parse(written)
  } catch {
    return written === '' ? undefined : written
  }
}

function numberIn(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
