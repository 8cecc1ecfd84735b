import type { AgentSession, StoredMessage } from '../../agents/port'
import type { Draft } from '../../contract/events'
import { posAfter } from '../../contract/ids'
import type { Row } from '../../contract/rows'
import { lastRun } from '../../contract/session'
import type { Changes } from '../../contract/wire'
import { align, asks, plain } from './align'
import type { Aligned } from './align'
import { importsOf } from './import'
import { knownOf, newlyKnown } from './parts'
import type { ForeignParts } from './parts'

/** The chat as it stands before the turn that is about to begin. */
interface Standing {
  rows: Row[]
  turns: Changes['turns']
  /** The place behind which an import comes. */
  behind: string
  /** The question of the turn itself. */
  question: string
}

/**
 * Before a turn of a chat whose agent keeps its own history (spec/agents.md §7): takes in what another program wrote there, takes back what has been retracted here, and gives the chat a
 * new stored session where that cannot be done. Answers the session to run the turn on, opened. Throws where the store cannot be read or written: then no turn runs, since none ever
 * runs on a stored session that holds what is gone here.
 */
export async function beforeTurn(p: ForeignParts): Promise<AgentSession> {
  const { history, profile, foreign } = p
  if (foreign === undefined && p.count === 0) return p.open(undefined)
  const mark = foreign === undefined ? null : await history.mark(profile, foreign)
  if (foreign !== undefined && mark !== null && mark === p.mark && !p.anew) return p.open(foreign)
  const standing = await standingBefore(p)
  const stored = foreign === undefined || mark === null ? null : await history.read(profile, foreign)
  if (foreign === undefined || !stored) return anew(p)
  return settled(p, foreign, standing, stored)
}

async function settled(p: ForeignParts, foreign: string, standing: Standing, stored: { messages: StoredMessage[] }): Promise<AgentSession> {
  const { messages } = stored
  const known = await knownOf(p)
  // Tried again, the question stands already, and an earlier attempt may have brought it to the agent.
  const rows = p.anew === 'retried' ? [...standing.rows, ...(await questionRow(p, standing.question))] : standing.rows
  const aligned = align(messages, known, rows)
  if (aligned.strange || (await mayBeCopies(p, foreign, messages, aligned, standing))) return anew(p, { foreign, messages, known })
  const { ours } = aligned
  earlierAttempt(aligned, messages, standing.question)
  const took = await takeIn(p, foreign, standing, messages, known, aligned)
  const cut = ours.findIndex((row) => row === null || row === standing.question)
  if (cut < 0) {
    if (took) await p.renew()
    return p.open(foreign)
  }
  const target = messages[cut]!
  const keeps = ours.slice(cut).some((row) => row !== null && row !== standing.question)
  if (target.role !== 'user' || keeps) return anew(p)
  if (took) await p.renew()
  return (await rewound(p, foreign, messages.slice(0, cut), ours, target.id)) ?? anew(p)
}

/**
 * Whether what looks new may be a copy of what was retracted here: the store was written anew, so that rows which stand are not known by their ids any more, and retracted ones cannot be
 * known again either, since their words are gone.
 */
async function mayBeCopies({ store, session, history, profile }: ForeignParts, foreign: string, messages: readonly StoredMessage[], { ours, known, fresh }: Aligned, { rows }: Standing): Promise<boolean> {
  if (!messages.some((_, i) => i >= fresh && asks(messages, i))) return false
  const all = (await store.foreign(session)).filter((row) => row.store === history.store(profile))
  const here = all.filter((row) => row.session === foreign)
  const read = new Set(messages.map(({ id }) => id))
  const left = (here.length > 0 ? here : all).filter(({ row }) => !read.has(row))
  const covered = new Set(ours.filter((_, i) => known[i]))
  const stands = new Set(rows.map(({ id }) => id))
  return left.some((row) => row.ours === null) && left.some((row) => row.ours !== null && stands.has(row.ours) && !covered.has(row.ours))
}

/** What followed on the question when it was asked before was retracted with that attempt, whether it is known or not. */
function earlierAttempt(aligned: Aligned, messages: readonly StoredMessage[], question: string): void {
  const { ours } = aligned
  const at = ours.lastIndexOf(question)
  if (at < 0 || at !== aligned.fresh - 1) return
  while (aligned.fresh < messages.length && !asks(messages, aligned.fresh)) ours[aligned.fresh++] = null
}

/** Writes what is new in the store as rows before the turn, and what was matched as known; whether anything came. */
async function takeIn(p: ForeignParts, foreign: string, standing: Standing, messages: readonly StoredMessage[], known: Map<string, string | null>, aligned: Aligned): Promise<boolean> {
  const { ours } = aligned
  const last = standing.rows.at(-1)
  const turn = last && standing.turns.find(({ id }) => id === last.turn)
  // What follows on the last question that we have is its answer: whole where our run of it broke off, else known.
  const broke = turn !== undefined && lastRun(turn)?.outcome === 'interrupted' && ours[aligned.fresh - 1] !== undefined && isOf(standing, ours[aligned.fresh - 1]!, turn.id)
  let from = aligned.fresh
  // A marker before anything that stands here shows nothing that could be lost.
  while (!broke && from < messages.length && !asks(messages, from) && (last || messages[from]!.role === 'user')) ours[from++] = last?.id ?? null
  const shown = new Set(ours)
  const goesOn = broke && from < messages.length && !asks(messages, from)
  const before = goesOn ? untilAsked(messages, from) : from
  const fresh = messages.flatMap((message, i): { message: StoredMessage; at: number }[] => {
    if (i < from || (message.role === 'user' && !asks(messages, i))) return []
    return [{ message: goesOn && i < before ? unthought(message, standing, turn!.id) : message, at: i }]
  })
  const halves = goesOn ? standing.rows.filter((row) => row.turn === turn!.id && row.kind === 'answer' && !shown.has(row.id)) : []
  let suffix = ''
  const imports = importsOf(fresh.map(({ message }) => message), p.agent.kind, halves.map(({ id }) => ({ id, counted: true })), {
    mint: (kind) => p.mint(kind), place: () => ({ n: p.run.ledger.number(), pos: standing.behind + (suffix = posAfter(suffix)) }), ...(broke ? { turn: turn.id } : {}),
  })
  for (const { shows } of imports) for (const { index, row } of shows) ours[fresh[index]!.at] = row
  // Markers in between are known as what stands before them.
  for (let i = from; i < ours.length; i++) ours[i] ??= ours[i - 1] ?? last?.id ?? null
  let next = 0
  const until = (row: string | undefined): readonly (readonly [string, string | null])[] => {
    const end = row === undefined ? messages.length : ours.lastIndexOf(row) + 1
    const rows = messages.slice(next, end).map(({ id }, i) => [id, ours[next + i] ?? null] as const)
    next = Math.max(next, end)
    return rows
  }
  for (const { draft, batch, shows } of imports) {
    await p.run.ledger.write({ drafts: [draft], imported: batch, foreign: newlyKnown(p, foreign, known, until(shows.at(-1)?.row)), generation: p.run.generation })
  }
  const rest = newlyKnown(p, foreign, known, until(undefined))
  if (rest.length > 0) await p.run.ledger.write({ drafts: [bound(p, foreign)], foreign: rest, generation: p.run.generation })
  return imports.length > 0
}

/** Where the turn ends that a message belongs to. */
function untilAsked(messages: readonly StoredMessage[], from: number): number {
  const next = messages.findIndex((_, i) => i >= from && asks(messages, i))
  return next < 0 ? messages.length : next
}

/** Thoughts that were shown while the turn ran stand; stored ones would double them. */
function unthought(message: StoredMessage, { rows }: Standing, turn: string): StoredMessage {
  if (message.role !== 'assistant' || !rows.some((row) => row.turn === turn && row.kind === 'thought')) return message
  const { reasoning: _, ...rest } = message
  return rest
}

function isOf({ rows }: Standing, row: string, turn: string): boolean {
  return rows.some(({ id, turn: of }) => id === row && of === turn)
}

function bound(p: ForeignParts, foreign: string): Draft {
  return { type: 'agent.bound', agent: p.agent, foreign, why: 'resumed' }
}

/** The session after its store was taken back to what stands; null where that did not lead there. */
async function rewound(p: ForeignParts, foreign: string, keep: readonly StoredMessage[], ours: readonly (string | null | undefined)[], target: string): Promise<AgentSession | null> {
  const session = await p.open(foreign)
  if (!session.rewind) return null
  await session.rewind(target).catch(() => undefined)
  const after = await p.history.read(p.profile, foreign)
  if (!after || after.messages.length !== keep.length || !after.messages.every((message, i) => sameMessage(message, keep[i]!))) return null
  const known = await knownOf(p)
  const renamed = newlyKnown(p, foreign, known, after.messages.map(({ id }, i) => [id, ours[i] ?? null] as const))
  if (renamed.length > 0) await p.run.ledger.write({ drafts: [bound(p, foreign)], foreign: renamed, generation: p.run.generation })
  return session
}

function sameMessage(a: StoredMessage, b: StoredMessage): boolean {
  if (a.role !== b.role) return false
  if (a.role === 'tool' || b.role === 'tool') return a.role === 'tool' && b.role === 'tool' && a.call === b.call
  return plain(a.text) === plain(b.text)
}

/**
 * A new stored session with the words that stand, for an agent that has none, has lost it, or could not be taken back. The old one is left, and what is in it is known from now on. A chat in which
 * nothing was said yet begins without.
 */
async function anew(p: ForeignParts, strange?: { foreign: string; messages: readonly StoredMessage[]; known: ReadonlyMap<string, string | null> }): Promise<AgentSession> {
  await p.renew()
  // Also what has come from the old one meanwhile.
  const standing = await standingBefore(p)
  const said = standing.rows.filter((row) => (row.kind === 'user' || row.kind === 'answer') && row.text.trim() !== '')
  // What may be in the old one, of another program too, was not taken in.
  const unmatched = strange !== undefined || (p.foreign === undefined && p.anew === 'replaced')
  if (!said.some(({ kind }) => kind === 'answer')) {
    if (unmatched) await p.run.ledger.write({ drafts: [p.run.journal.divider('agent_unmatched')], generation: p.run.generation })
    return p.open(undefined)
  }
  const messages = said.map((row) => ({ role: row.kind === 'user' ? ('user' as const) : ('assistant' as const), text: row.text }))
  const foreign = await p.history.seed(p.profile, { title: p.title, cwd: p.cwd, messages })
  const stored = await p.history.read(p.profile, foreign)
  if (stored?.messages.length !== messages.length || !stored.messages.every((message, i) => message.role === messages[i]!.role && 'text' in message && plain(message.text) === plain(messages[i]!.text))) {
    throw new Error('The agent did not keep what it was given to remember.')
  }
  const last = standing.rows.at(-1)
  const buried = strange && last ? newlyKnown(p, strange.foreign, strange.known, strange.messages.map(({ id }) => [id, last.id] as const)) : []
  await p.run.ledger.write({
    drafts: [
      { type: 'agent.bound', agent: p.agent, foreign, why: 'reseeded' }, ...(unmatched ? [p.run.journal.divider('agent_unmatched')] : []), p.run.journal.divider('agent_reseeded'),
    ],
    foreign: [...buried, ...newlyKnown(p, foreign, new Map(), stored.messages.map(({ id }, i) => [id, said[i]!.id] as const))],
    generation: p.run.generation,
  })
  return p.open(foreign)
}

async function standingBefore({ store, session, run }: ForeignParts): Promise<Standing> {
  const all = (await store.window(session, { limit: 1_000_000 }))!
  const mine = all.turns.find(({ id }) => id === run.turn)!
  const rows = all.rows.filter((row) => row.pos < mine.pos && row.turn !== run.turn)
  return { rows, turns: all.turns, behind: rows.at(-1)?.pos ?? '0', question: mine.row }
}

async function questionRow({ store, session, run }: ForeignParts, question: string): Promise<Row[]> {
  const { tail } = (await store.load(session))!
  const row = tail.rows.get(question)
  return row && row.turn === run.turn ? [row] : []
}
