import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProfileContext } from '../../profiles/context'
import type { AgentHistory, StoredCall, StoredMessage } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import { textOf } from './protocol/rest'
import type { HermesMessage } from './protocol/rest'
import { IMPORT_LIMITS } from './rest'
import { closingOf, described } from './tools'

/** User rows that nobody typed (spec/hermes-rpc.md §3, spec/hermes-home.md §3.5): markers of settings, and summaries in the place of what was compacted. */
const MARKER = /^\s*\[System: |\[CONTEXT COMPACTION|\[PRIOR CONTEXT/

/** What Hermes begins a turn with by itself: the background has something to say. */
const BEGINS = /^\s*\[(?:IMPORTANT: |ASYNC DELEGATION)/

/** What Hermes adds to a message for its model: where pictures lie, and files that were named in it. */
const ADDED = /(?:\n\n|^)(?:\[Image attached at: [^\n]*\]\n?)+(?:\[screenshot\]\n?)*\s*$|(?:\n|^)\[screenshot\]\s*$|\n\n--- Attached Context ---\n[^]*$/

/** What we put before a message for its files (`attachments.ts`): Hermes has copied them there. What a person names in words of their own stays. */
const NAMED = /^(?:@file:(?:`\.hermes\/desktop-attachments\/[^`\n]+`|\.hermes\/desktop-attachments\/[^\s`]+) ?)+\n\n/

/** An answer that was never one. */
const INTERRUPTED = 'Operation interrupted.'

/** How many marks are remembered. */
const MARKS = 256

/**
 * Hermes' transcripts over its REST, and new ones by its import (spec/agents.md §7). What it takes back counts as gone; what it compacted is not read any more. As long as the files of
 * the store stand as they stood before a mark was read (`signOf`; null: not known), it is the mark: to ask Hermes took 10 ms of each turn.
 */
export function historyOf(programOf: (profile: ProfileContext) => HermesProgram, signOf: (profile: ProfileContext) => Promise<string | null> = filesOf): AgentHistory {
  const marks = new Map<string, { sign: string; mark: string | null }>()
  const ready = async (profile: ProfileContext): Promise<HermesProgram> => {
    const program = programOf(profile)
    await program.ready()
    return program
  }
  const mark = async (profile: ProfileContext, foreign: string): Promise<string | null> => {
    const name = JSON.stringify([profile.scope, foreign])
    const sign = await signOf(profile)
    const known = marks.get(name)
    if (known && known.sign === sign) return known.mark
    const stored = await (await ready(profile)).stored(foreign)
    const now = stored ? JSON.stringify([stored.messages ?? null, stored.counters.input ?? null, stored.counters.output ?? null]) : null
    marks.delete(name)
    if (sign !== null) marks.set(name, { sign, mark: now })
    if (marks.size > MARKS) marks.delete(marks.keys().next().value!)
    return now
  }
  return {
    store: (profile) => `hermes ${profile.scope}`,
    mark,
    async read(profile, foreign, from) {
      const program = await ready(profile)
      // The mark first: what is written between the two is read now and looked at again.
      const at = await mark(profile, foreign)
      const rows = at === null ? null : await program.messages(foreign, from)
      return rows && { mark: at!, messages: storedMessages(rows) }
    },
    async seed(profile, { title, cwd, messages }) {
      const program = await ready(profile)
      return program.importSession({ ...(title ? { title } : {}), cwd, messages: lastOf(messages).map(({ role, text }) => ({ role, content: text })) })
    },
  }
}

/** The files of a profile's store as they stand; neither is opened. Whoever writes makes the log grow or changes the store; who reads touches an empty log alone, as Hermes' own REST does at each request. */
async function filesOf(profile: ProfileContext): Promise<string | null> {
  const stands = async (name: string): Promise<string> => {
    const { ino, size, mtimeNs } = await stat(join(profile.home, name), { bigint: true })
    return size === 0n ? 'empty' : `${ino} ${size} ${mtimeNs}`
  }
  try {
    return `${await stands('state.db')} ${await stands('state.db-wal').catch(() => 'empty')}`
  } catch {
    return null
  }
}

/** Rows of Hermes in plain words. A row of another role is nothing that is shown. */
export function storedMessages(rows: readonly HermesMessage[]): StoredMessage[] {
  const names = new Map<string, string>()
  return rows.flatMap((row): StoredMessage[] => {
    const common = { id: String(row.id), at: Math.round((row.timestamp ?? 0) * 1000) }
    const text = textOf(row)
    if (row.role === 'user') {
      const synthetic = MARKER.test(text) ? ('marker' as const) : BEGINS.test(text) ? ('begins' as const) : undefined
      return [{ ...common, role: 'user', text: synthetic ? text : text.replace(ADDED, '').replace(NAMED, ''), ...(synthetic ? { synthetic } : {}) }]
    }
    if (row.role === 'assistant') {
      const calls = (row.tool_calls ?? []).map(callOf)
      for (const { call, name } of calls) names.set(call, name)
      const reasoning = (row.reasoning ?? row.reasoning_content)?.trim()
      const synthetic = MARKER.test(text) || text.trim() === INTERRUPTED
      return [{ ...common, role: 'assistant', text: synthetic ? '' : text, calls, ...(reasoning ? { reasoning } : {}), ...(synthetic ? { synthetic: 'marker' as const } : {}) }]
    }
    if (row.role !== 'tool') return []
    const call = row.tool_call_id ?? ''
    const { state, result, output } = closingOf({ tool_id: call, name: row.tool_name ?? names.get(call) ?? 'tool', result: parsed(text) })
    return [{ ...common, role: 'tool', call, state, result: output ?? result ?? '' }]
  })
}

/** Hermes' undo in its stored form, which counts its own user rows from the end, markers too (spec/hermes-rpc.md §0, trap 10). */
export async function undoTo(program: HermesProgram, live: string, stored: string, row: string): Promise<void> {
  const rows = (await program.messages(stored)) ?? []
  const count = rows.filter(({ id, role }) => role === 'user' && id >= Number(row)).length
  if (count === 0 || !rows.some(({ id }) => String(id) === row)) throw new HermesFault('rpc', 'Hermes Agent does not hold that message any more.')
  await program.call('command.dispatch', { session_id: live, name: 'undo', arg: String(count) })
}

/** What one import may hold; of a longer chat the end is remembered. */
function lastOf<T extends { text: string }>(messages: readonly T[]): readonly T[] {
  let bytes = 0
  let from = messages.length
  while (from > 0 && messages.length - from < IMPORT_LIMITS.messages) {
    bytes += Buffer.byteLength(messages[from - 1]!.text) * 2 + 200
    if (bytes > IMPORT_LIMITS.bytes / 2) break
    from--
  }
  return messages.slice(from)
}

/** A call in either form of spec/hermes-home.md §3.4. */
function callOf(value: unknown, index: number): StoredCall {
  const outer = isObject(value) ? value : {}
  const inner = isObject(outer.function) ? outer.function : outer
  const name = typeof inner.name === 'string' && inner.name !== '' ? inner.name : 'tool'
  const call = typeof outer.id === 'string' && outer.id !== '' ? outer.id : typeof outer.call_id === 'string' ? outer.call_id : `call ${index + 1}`
  const args = parsed(inner.arguments)
  const { verb, target } = described(name, isObject(args) ? args : undefined)
  return { call, name, verb, ...(target === undefined ? {} : { target }), ...(args === undefined ? {} : { args }) }
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value === '' ? undefined : value
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
