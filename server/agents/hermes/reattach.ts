import type { AgentEvent, Binding, Opening, Reattached, Shown, Sink, TurnEnd } from '../port'
import { resumeSession } from './opened'
import type { Opened } from './opened'
import type { HermesMessage } from './protocol/rest'
import { keptOf, raisedOf } from './questions'
import type { HermesSession, HermesSessionParts } from './session'
import { answerIn, callsIn, resultsIn, turnRows } from './stored-turn'
import { closingOf, described } from './tools'
import { usedSince } from './usage'

export interface ReattachParts extends HermesSessionParts {
  make(parts: HermesSessionParts, opening: Opening, sink: Sink): HermesSession
}

/** Sub-agents are named by Hermes with this; nothing of them is repeated, so their steps end with our restart. */
const SUBAGENT = 'sa-'

/**
 * What became of a turn while we were away (spec/log.md §9). Hermes goes on without us and repeats only the text so far (spec/hermes-rpc.md §1.2): tools that
 * ended meanwhile are read from its store, open questions are asked again as we remember them.
 */
export async function reattach(parts: ReattachParts, opening: Opening, binding: Binding, sink: Sink): Promise<Reattached> {
  const { program } = parts
  // One that died with us may have stored the end of the turn before.
  if (!(await program.adopt())) await program.ready()
  const opened = await resumeSession(program, binding.foreign)
  if (!opened) return { state: 'gone' }
  const rows = turnRows((await program.messages(opened.stored)) ?? [], binding.counters?.rows)
  if (opened.resumed?.running === true) return goesOn(parts, { ...opening, foreign: opened.stored }, binding, sink, opened, rows)
  const ended = await hasEnded(parts, binding, opened, rows)
  await program.call('session.close', { session_id: opened.live }).catch(() => undefined)
  return ended
}

async function goesOn(parts: ReattachParts, opening: Opening, binding: Binding, sink: Sink, opened: Opened, rows: readonly HermesMessage[]): Promise<Reattached> {
  const shown = binding.shown ?? []
  const said = opened.resumed?.inflight?.assistant ?? ''
  const results = resultsIn(rows)
  const called = callsIn(rows)
  const open = shown.flatMap((each) => (each.kind === 'tool' && each.live && !each.call.startsWith(SUBAGENT) ? [each.call] : []))
  const known = new Set(shown.flatMap((each) => (each.kind === 'tool' ? [each.call] : [])))
  const runs = [...open, ...[...called.keys()].filter((call) => !known.has(call))].filter((call) => !results.has(call))

  const session = parts.make(parts, opening, sink)
  await session.attach(opened)
  const end = session.resume({ counters: binding.counters ?? {}, rows: binding.counters?.rows }, (turn) => {
    turn.resume(said, runs.map((call) => ({ call, name: called.get(call)?.name ?? '' })), [...known, ...called.keys()])
    return [
      ...open.flatMap((call) => closedBy(call, called.get(call)?.name, results)),
      ...[...called].filter(([call, { name }]) => !known.has(call) && name !== 'clarify').flatMap(([call, { name, args }]): AgentEvent[] => [
        { type: 'tool.started', call, name, ...described(name, args), ...(args ? { args } : {}) }, ...closedBy(call, name, results),
      ]),
      ...binding.questions.flatMap((foreign, i): AgentEvent[] => {
        const kept = keptOf(foreign)
        if (!kept || kept.due <= parts.timers.now() || (kept.kind === 'approval' && kept.call !== undefined && !runs.includes(kept.call))) return []
        const question = kept.kind === 'clarify' ? kept.id : `again ${i + 1}`
        turn.asked(kept.kind === 'approval' ? kept.call : undefined, question)
        return [raisedOf(question, kept, opening.cwd)]
      }),
    ]
  })
  return { state: 'running', session, end, message: messageOf(said, shown), open }
}

async function hasEnded(parts: ReattachParts, binding: Binding, opened: Opened, rows: readonly HermesMessage[]): Promise<Reattached> {
  const last = rows.at(-1)
  // Only what it has stored says how it ended; nothing of the turn, or its beginning alone, says that it did not.
  if (!last || last.role === 'user') return { state: 'gone' }
  const results = resultsIn(rows)
  const called = callsIn(rows)
  const now = await parts.program.stored(opened.stored)
  const usage = now ? usedSince(binding.counters ?? {}, now.counters) : {}
  const text = answerIn(rows)
  const end: TurnEnd = text !== null ? { outcome: 'completed' } : { outcome: 'interrupted', problem: { code: 'agent_died', words: 'Hermes Agent ended in the middle.' } }
  const open = (binding.shown ?? []).flatMap((each) => (each.kind === 'tool' && each.live ? [each.call] : []))
  return {
    state: 'ended', end: Object.keys(usage).length > 0 ? { ...end, usage } : end, message: text,
    closed: open.flatMap((call) => {
      const result = results.get(call)
      if (result === undefined) return []
      const { state, result: words } = closingOf({ tool_id: call, name: called.get(call)?.name ?? '', result, todos: undefined, args: undefined, duration_s: undefined, summary: undefined, inline_diff: undefined })
      return [{ call, state, ...(words === undefined ? {} : { result: words }) }]
    }),
  }
}

function closedBy(call: string, name: string | undefined, results: ReadonlyMap<string, string>): AgentEvent[] {
  const result = results.get(call)
  if (result === undefined) return []
  return [{ type: 'tool.closed', call, ...closingOf({ tool_id: call, name: name ?? '', result, todos: undefined, args: undefined, duration_s: undefined, summary: undefined, inline_diff: undefined }) }]
}

/**
 * The message that the agent is in. Hermes counts the text of the whole turn, with a blank line before what follows tools; the page has it in rows. What was
 * shown is taken off from the beginning; where it does not fit, all of it is said again, and nothing is lost.
 */
export function messageOf(said: string, shown: readonly Shown[]): string | null {
  const answers = shown.flatMap((each) => (each.kind === 'answer' ? [each.text] : []))
  let rest = said
  for (const text of answers) {
    const begun = rest.startsWith(text) ? rest : rest.trimStart()
    if (!begun.startsWith(text)) {
      // The last one may hold more than the agent counts, or less by blanks.
      if (text.startsWith(begun)) return answers.at(-1) === text ? text : null
      return said.trim() === '' ? null : said
    }
    rest = begun.slice(text.length)
  }
  const last = shown.at(-1)
  if (last?.kind === 'answer') return last.text + rest
  const fresh = rest.startsWith('\n\n') ? rest.slice(2) : rest
  return fresh === '' ? null : fresh
}
