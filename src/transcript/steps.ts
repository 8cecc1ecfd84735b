import { questionOf } from '../../server/contract/apply-questions'
import type { Row, ToolRow, ToolVerb } from '../../server/contract/rows'
import type { IconName } from '../ui/icon'
import type { TraceStep } from '../ui/ticks'

/** True while a person is asked on this row. */
export function waits(row: Row): boolean {
  return questionOf(row)?.state === 'open'
}

/** A thought of which nothing is left: all of it proved to be an echo of the answer (spec/settlement.md §4). It is not shown. */
export function hollow(row: Row): boolean {
  return row.kind === 'thought' && row.state !== 'live' && row.text === ''
}

/** Rows that count in the trace; a plan stands among the steps and is none. */
export function counts(row: Row): boolean {
  return row.kind !== 'plan' && !hollow(row)
}

/** One tick of the trace. `lost`: the page cannot see whether it still runs. */
export function tickOf(row: Row, online: boolean): TraceStep {
  const kind = row.kind === 'thought' ? 'thought' : row.kind === 'question' ? 'question' : 'tool'
  const state = waits(row) ? 'need' : row.state === 'live' ? (online ? 'live' : 'lost') : row.state === 'failed' ? 'failed' : row.state === 'unknown' ? 'lost' : 'done'
  return row.duration === undefined ? { kind, state } : { kind, state, ms: row.duration }
}

/** A sub-agent itself, not a step of one: agents that have them call them so. */
export function isAgent(row: ToolRow): boolean {
  return row.tool.name === 'subagent'
}

export const VERB_ICONS: Record<ToolVerb, IconName> = {
  read: 'file-text', list: 'folder-open', search: 'search', write: 'file-pen', change: 'file-pen', run: 'terminal', web: 'globe', skill: 'book-open', memory: 'bookmark', other: 'wrench',
}

/** Targets of these verbs are paths or commands and are set in the code face. */
export const CODE_VERBS: ReadonlySet<ToolVerb> = new Set(['read', 'list', 'write', 'change', 'run'])

/** What folds into one line when three or more stand in a row (design/LANGUAGE.md §8, steps). */
const GROUPED: ReadonlySet<ToolVerb> = new Set(['read', 'list', 'search'])

/** Steps of a sub-agent by the step they stand under, and those that stand for themselves (spec/log.md §3, `parent`). */
export function nestSteps<T>(cells: readonly T[], rowOf: (cell: T) => Row): { top: T[]; under: Map<string, T[]> } {
  const here = new Set(cells.map((cell) => rowOf(cell).id))
  const top: T[] = []
  const under = new Map<string, T[]>()
  for (const cell of cells) {
    const { parent } = rowOf(cell)
    if (parent === undefined || !here.has(parent)) top.push(cell)
    else under.set(parent, [...(under.get(parent) ?? []), cell])
  }
  return { top, under }
}

export type StepItem<T> = { kind: 'one'; cell: T } | { kind: 'group'; id: string; cells: T[] }

/** Joins three or more finished reads, lists or searches that follow each other; what failed, waits or was asked for stands for itself. */
export function groupSteps<T>(cells: readonly T[], rowOf: (cell: T) => Row): StepItem<T>[] {
  const items: StepItem<T>[] = []
  let run: T[] = []
  const close = () => {
    if (run.length >= 3) items.push({ kind: 'group', id: rowOf(run[0]!).id, cells: run })
    else for (const cell of run) items.push({ kind: 'one', cell })
    run = []
  }
  for (const cell of cells) {
    const row = rowOf(cell)
    if (row.kind === 'tool' && row.state === 'done' && GROUPED.has(row.tool.verb) && !row.approval) {
      const first = run[0] && rowOf(run[0])
      if (first?.kind === 'tool' && first.tool.verb !== row.tool.verb) close()
      run.push(cell)
    } else {
      close()
      items.push({ kind: 'one', cell })
    }
  }
  close()
  return items
}

/** The folder that all targets share, or null: with fewer than two parts in common it says nothing. */
export function commonFolder(targets: readonly (string | undefined)[]): string | null {
  const folders = targets.map((target) => target?.split('/').slice(0, -1) ?? [])
  const first = folders[0] ?? []
  let n = 0
  while (n < first.length && folders.every((folder) => folder[n] === first[n])) n++
  const shared = first.slice(0, n).join('/')
  return shared === '' ? null : shared
}

/** The last lines of a text, without blank ones at the end. */
export function lastLines(text: string, n: number): string {
  return text.trimEnd().split('\n').slice(-n).join('\n')
}

export interface DiffLine { kind: 'same' | 'added' | 'removed' | 'hunk'; text: string }

/** Lines of a unified diff; headers of files are left out, because the step names the file. */
export function readDiff(diff: string): DiffLine[] {
  const lines: DiffLine[] = []
  let inside = false
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('@@')) {
      inside = true
      lines.push({ kind: 'hunk', text: line })
    } else if (!inside && /^(?:---|\+\+\+|diff |index |new file|deleted file|similarity|rename )/.test(line)) continue
    else if (line.startsWith('\\')) continue
    else if (line.startsWith('+')) lines.push({ kind: 'added', text: line.slice(1) })
    else if (line.startsWith('-')) lines.push({ kind: 'removed', text: line.slice(1) })
    else lines.push({ kind: 'same', text: line.startsWith(' ') ? line.slice(1) : line })
  }
  return lines
}

/** How many lines a diff adds and removes. */
export function countDiff(lines: readonly DiffLine[]): { added: number; removed: number } {
  let added = 0
  let removed = 0
  for (const line of lines) {
    if (line.kind === 'added') added++
    else if (line.kind === 'removed') removed++
  }
  return { added, removed }
}
