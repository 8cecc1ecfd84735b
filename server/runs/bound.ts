import { TOOL_TEXT_LIMIT } from '../contract/rows'
import type { PlanEntry, ToolHead } from '../contract/rows'
import { wellFormed } from './wellformed'

const STRING_LIMIT = 8192
const ITEM_LIMIT = 64
const PLAN_LIMIT = 200
const DEPTH_LIMIT = 8
const ARGS_LIMIT = 65_536

/** A tool's head within the bounds of a row: the tail of its output, the beginning of everything else (spec/log.md §3; settlement.md §0). */
export function boundTool<T extends Partial<ToolHead>>(tool: T): T {
  const bounded: Partial<ToolHead> = { ...tool }
  let cut = false
  for (const key of ['result', 'diff'] as const) {
    const text = bounded[key]
    if (text === undefined) continue
    cut ||= text.length > TOOL_TEXT_LIMIT
    bounded[key] = wellFormed(text.slice(0, TOOL_TEXT_LIMIT))
  }
  if (bounded.output !== undefined) {
    cut ||= bounded.output.length > TOOL_TEXT_LIMIT
    bounded.output = wellFormed(bounded.output.slice(-TOOL_TEXT_LIMIT))
  }
  for (const key of ['title', 'target', 'name'] as const) {
    const text = bounded[key]
    if (text !== undefined) bounded[key] = wellFormed(text.slice(0, STRING_LIMIT))
  }
  if (bounded.args !== undefined) bounded.args = boundArgs(bounded.args)
  if (cut) bounded.cut = true
  return bounded as T
}

/** A plan within the bounds of a row. */
export function boundPlan(entries: readonly PlanEntry[]): PlanEntry[] {
  return entries.slice(0, PLAN_LIMIT).map((entry) => ({ ...entry, text: wellFormed(entry.text.slice(0, STRING_LIMIT)) }))
}

/** Arguments as they are shown: deep, long and wide ones are shortened, and what is still too large is left out. */
export function boundArgs(args: unknown): unknown {
  const bounded = shrink(args, 0)
  return (JSON.stringify(bounded)?.length ?? 0) <= ARGS_LIMIT ? bounded : { cut: true }
}

function shrink(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length > STRING_LIMIT ? wellFormed(value.slice(0, STRING_LIMIT)) + '…' : wellFormed(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value === null || typeof value === 'boolean') return value
  if (typeof value !== 'object') return undefined
  if (depth >= DEPTH_LIMIT) return '…'
  if (Array.isArray(value)) return value.slice(0, ITEM_LIMIT).map((item) => shrink(item, depth + 1) ?? null)
  const out: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value).slice(0, ITEM_LIMIT)) out[key] = shrink(item, depth + 1)
  return out
}
