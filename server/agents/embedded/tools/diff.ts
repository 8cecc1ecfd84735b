/** How many lines of context stand around a change. */
const CONTEXT = 3
/** Above this much work the middle of a change is shown as replaced whole. */
const MOST_STEPS = 4_000_000

interface Edit { kind: ' ' | '-' | '+'; line: string }

/** A unified diff of two texts; empty when they are equal. `before` null: the file is new. */
export function unifiedDiff(path: string, before: string | null, after: string): string {
  if (before === after) return ''
  const edits = compare(lines(before ?? ''), lines(after))
  const head = `--- ${before === null ? '/dev/null' : `a/${path}`}\n+++ b/${path}\n`
  return head + hunks(edits)
}

/** Lines with their ends marked, so that a missing last line end is a difference of its own. */
function lines(text: string): string[] {
  if (text === '') return []
  const all = text.split('\n')
  if (all[all.length - 1] === '') {
    all.pop()
    return all
  }
  all.push(`${all.pop()!}\n\\ No newline at end of file`)
  return all
}

function compare(a: string[], b: string[]): Edit[] {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const same = (line: string): Edit => ({ kind: ' ', line })
  return [...a.slice(0, head).map(same), ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ...a.slice(a.length - tail).map(same)]
}

/** Longest common subsequence by table; texts that would cost too much are replaced whole. */
function middle(a: string[], b: string[]): Edit[] {
  const removed = a.map((line): Edit => ({ kind: '-', line }))
  const added = b.map((line): Edit => ({ kind: '+', line }))
  if (a.length === 0 || b.length === 0 || a.length * b.length > MOST_STEPS) return [...removed, ...added]
  const width = b.length + 1
  const table = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!)
  const out: Edit[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      out.push({ kind: ' ', line: a[i]! })
      i++
      j++
    } else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) out.push(removed[i++]!)
    else out.push(added[j++]!)
  }
  return [...out, ...removed.slice(i), ...added.slice(j)]
}

function hunks(edits: Edit[]): string {
  let out = ''
  let oldLine = 1
  let newLine = 1
  let at = 0
  while (at < edits.length) {
    let change = at
    while (change < edits.length && edits[change]!.kind === ' ') change++
    if (change === edits.length) break
    const start = Math.max(at, change - CONTEXT)
    oldLine += start - at
    newLine += start - at
    let end = change
    for (let i = change, quiet = 0; i < edits.length && quiet <= CONTEXT * 2; i++) {
      quiet = edits[i]!.kind === ' ' ? quiet + 1 : 0
      if (quiet === 0) end = i + 1
    }
    end = Math.min(edits.length, end + CONTEXT)
    const part = edits.slice(start, end)
    const olds = part.filter((e) => e.kind !== '+').length
    const news = part.filter((e) => e.kind !== '-').length
    out += `@@ -${span(oldLine, olds)} +${span(newLine, news)} @@\n${part.map((e) => `${e.kind}${e.line}\n`).join('')}`
    oldLine += olds
    newLine += news
    at = end
  }
  return out
}

function span(line: number, count: number): string {
  return `${count === 0 ? line - 1 : line},${count}`
}
