import { questionOf } from './apply-questions'
import type { Approval } from './approvals'
import type { Clarify, Secret } from './questions'
import { clip, firstSentence } from './sentence'
import type { AgentRef, ModelRef, Run, RunOutcome, Transcript } from './session'
import { lastRun } from './session'
import type { RunProblemCode } from './problems'
import type { Row, ToolVerb } from './rows'

/**
 * One chat as the list shows it. Written, and its revision moved, only when a field of it changed; growth of text changes none.
 */
export interface ListEntry {
  id: string
  /** Store revision of its last change; a reader keeps the entry with the higher one. */
  rev: number
  title: string
  profile: string
  workspace: string
  agent: AgentRef | null
  model: ModelRef | null
  pinned: boolean
  archived: boolean
  createdAt: number
  lastAt: number
  count: number
  state: 'idle' | 'working' | 'stopping' | 'asking'
  /** Id and start (server's ms) of the live run. */
  run?: string
  since?: number
  /** How many questions are open: approvals, clarifying questions, secrets. */
  questions: number
  /** Messages that wait in the queue; absent: none. */
  queued?: number
  /** `seq` of the settlement of the last run; absent while one is live or before the first. */
  settled?: number
  /** Up to which `seq` a person has seen this chat; kept by the store beside the fold. Unread: `settled` is above it. */
  read?: number
  /** How the last run ended; absent while one is live or before the first. */
  outcome?: RunOutcome
  problem?: RunProblemCode
  /** The second line: the current step, the request itself, or the first sentence of the answer; at most 160 characters. */
  line?: ListLine
  /** Steps of the last turn for the trace, at most 32: of more, the oldest are merged into one of their summed duration. */
  ticks: Tick[]
}

/**
 * `question`: `text` is what is asked, in plain words; `asks`: of which kind it is, absent for a permission. `step`: the newest step of the live run; `verb` says what it does, `text` what it acts on, empty
 * for `think` and `answer`. `answer`: first sentence of the last answer. `problem`: the provider's own words, empty if it had none.
 */
export interface ListLine { kind: 'step' | 'question' | 'answer' | 'problem'; text: string; verb?: ToolVerb | 'think' | 'answer'; asks?: 'clarify' | 'secret' }

/** One tick of the trace (design/LANGUAGE.md §2). `ms` is absent while it runs. */
export interface Tick { kind: 'thought' | 'tool' | 'question'; state: 'live' | 'done' | 'failed' | 'need'; ms?: number; at: number }

/** What the fold alone gives; `rev` and `read` are the store's. */
export type EntryFields = Omit<ListEntry, 'rev' | 'read'>
export type EntryOf = (value: Transcript) => EntryFields | null

export const MAX_TICKS = 32
/** UTF-16 units. */
export const LINE_LENGTH = 160

/**
 * The list entry of a transcript, of which it reads the head and the last turn with its rows only, so a part that holds these gives
 * the same entry as the whole. Null before `session.created` and once deleted. It never depends on the text of a live row.
 */
export const entryOf: EntryOf = (value) => {
  const head = value.session
  if (!head) return null
  const rows = lastTurnRows(value)
  const turn = rows.length > 0 ? value.turns.get(rows[0]!.turn) : undefined
  const run = turn && lastRun(turn)
  const open = rows.map(openQuestion).filter((question) => question !== undefined)
  const entry: EntryFields = {
    id: head.id, title: head.title, profile: head.profile, workspace: head.workspace, agent: head.agent, model: head.model, pinned: head.pinned,
    archived: head.archived, createdAt: head.createdAt, lastAt: head.lastAt, count: head.count, state: 'idle', questions: open.length, ticks: ticksOf(rows),
  }
  if (value.queue.items.length > 0) entry.queued = value.queue.items.length
  if (run && run.state !== 'settled') {
    entry.state = run.state === 'stopping' ? 'stopping' : open.length > 0 ? 'asking' : 'working'
    entry.run = run.id
    entry.since = run.startedAt
  } else if (run) {
    // Nothing changes a turn after its last run has settled, but the start of the next one.
    entry.settled = turn.seq
    if (run.outcome) entry.outcome = run.outcome
    if (run.problem) entry.problem = run.problem.code
  }
  const line = lineOf(rows, run, open.find((question) => !('waits' in question && question.waits)) ?? open[0])
  if (line) entry.line = line
  return entry
}

/** What in the list asks for a person: a question before a failure before an answer, and the last two only until the chat was looked at. */
export type Attention = 'question' | 'failed' | 'unread'

export function attentionOf(entry: Pick<ListEntry, 'questions' | 'outcome' | 'settled' | 'read'>): Attention | null {
  if (entry.questions > 0) return 'question'
  if ((entry.settled ?? 0) <= (entry.read ?? 0)) return null
  return entry.outcome === 'failed' || entry.outcome === 'interrupted' ? 'failed' : 'unread'
}

/**
 * Whether two entries show the same, whatever their revisions; then nothing is written and no revision moves. What comes from `entryOf` has one order of keys. The
 * read mark counts: whoever compares a new entry with a kept one gives it the kept one's first.
 */
export function sameEntry(a: EntryFields & { rev?: number; read?: number }, b: EntryFields & { rev?: number; read?: number }): boolean {
  const names = Object.keys({ ...a, ...b }) as (keyof typeof a)[]
  return names.every((name) => name === 'rev' || a[name] === b[name] || JSON.stringify(a[name]) === JSON.stringify(b[name]))
}

/** In display order. Empty when nothing was said yet. */
function lastTurnRows(value: Transcript): Row[] {
  const rows: Row[] = []
  for (let i = value.order.length - 1; i >= 0; i--) {
    const row = value.rows.get(value.order[i]!)!
    if (rows.length > 0 && row.turn !== rows[0]!.turn) break
    rows.push(row)
  }
  return rows.reverse()
}

function openQuestion(row: Row): Approval | Clarify | Secret | undefined {
  const question = questionOf(row)
  return question?.state === 'open' ? question : undefined
}

function lineOf(rows: Row[], run: Run | undefined, question: Approval | Clarify | Secret | undefined): ListLine | undefined {
  if (question) return { kind: 'question', text: clip(asked(question), LINE_LENGTH), ...('question' in question ? { asks: 'clarify' } : 'prompt' in question ? { asks: 'secret' } : {}) }
  if (run && run.state !== 'settled') return stepLine(rows.findLast((row) => row.run === run.id && (row.kind === 'tool' || row.kind === 'thought' || row.kind === 'answer')))
  if (run?.outcome === 'failed' || run?.outcome === 'interrupted') return { kind: 'problem', text: firstSentence(run.problem?.words ?? '', LINE_LENGTH) }
  const answer = rows.findLast((row) => row.kind === 'answer' && row.text.length > 0)
  const text = answer ? firstSentence(answer.text, LINE_LENGTH) : ''
  return text ? { kind: 'answer', text } : undefined
}

/** What is asked, with the command that the sentence leaves out: the list is where one decides whether to look. */
function asked(question: Approval | Clarify | Secret): string {
  // It may be Markdown, of which a line shows nothing.
  if ('question' in question) return question.question.replace(/\*\*|`/g, '')
  if ('prompt' in question) return withDetail(question.prompt, question.env)
  return withDetail(question.action, question.command)
}

function withDetail(sentence: string, detail: string | undefined): string {
  return detail && !sentence.includes(detail) ? `${sentence}: ${detail}` : sentence
}

function stepLine(row: Row | undefined): ListLine | undefined {
  if (row?.kind === 'tool') return { kind: 'step', text: clip(row.tool.target ?? row.tool.title ?? row.tool.name, LINE_LENGTH), verb: row.tool.verb }
  if (row?.kind === 'thought') return { kind: 'step', text: '', verb: 'think' }
  if (row?.kind === 'answer') return { kind: 'step', text: '', verb: 'answer' }
  return undefined
}

function ticksOf(rows: Row[]): Tick[] {
  const ticks: Tick[] = []
  for (const row of rows) {
    if (row.kind !== 'thought' && row.kind !== 'tool' && row.kind !== 'question') continue
    const tick: Tick = { kind: row.kind, state: tickState(row), at: row.at }
    if (row.state !== 'live') tick.ms = row.duration ?? 0
    ticks.push(tick)
  }
  if (ticks.length <= MAX_TICKS) return ticks
  const older = ticks.splice(0, ticks.length - MAX_TICKS + 1)
  const merged: Tick = { kind: 'tool', state: older.some((tick) => tick.state === 'failed') ? 'failed' : 'done', ms: 0, at: older[0]!.at }
  for (const tick of older) merged.ms! += tick.ms ?? 0
  return [merged, ...ticks]
}

function tickState(row: Row): Tick['state'] {
  if (openQuestion(row)) return 'need'
  return row.state === 'live' || row.state === 'failed' ? row.state : 'done'
}
