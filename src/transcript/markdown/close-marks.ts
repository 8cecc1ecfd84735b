/**
 * Closes what is still open in the text that is being written, for display only: emphasis, code, struck text and links. Marks that have
 * nothing behind them yet are left out, and so is a beginning of a line that could still turn into a list, a heading or an underline:
 * nothing shows up as a mark first and as a form later. What stands before the last block is never touched.
 */
export function closeMarks(text: string): string {
  const { head, tail } = lastBlock(heldBack(withoutTableHead(text)))
  return head + closeInline(tail)
}

/** Without the head of a table whose rule below is not complete: until then it would show its bars. */
function withoutTableHead(text: string): string {
  const found = /(?:^|\n)([ \t]*\|[^\n]*)(?:\n([ \t|:-]*))?$/.exec(text)
  if (!found || /\|[^\n]*\n$/.test(text.slice(0, found.index + 1))) return text
  const rule = found[2] === undefined ? [] : cells(found[2])
  const complete = rule.length > 0 && rule.length === cells(found[1]!).length && rule.every((cell) => /^:?-+:?$/.test(cell))
  return complete ? text : text.slice(0, found.index === 0 && text[0] !== '\n' ? 0 : found.index + 1)
}

function cells(line: string): string[] {
  return line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim())
}

/** Without an unfinished last line that is only marks. */
function heldBack(text: string): string {
  const start = text.lastIndexOf('\n') + 1
  return /^[ \t>]*(?:[*+-]{1,3}|\d{1,9}[.)]?|#{1,6}|=+|`{1,2}|~{1,2}|\||<)?[ \t]*$/.test(text.slice(start)) ? text.slice(0, start) : text
}

/** Emphasis does not reach over blank lines, list items, headings or cells. */
function lastBlock(text: string): { head: string; tail: string } {
  const starts = [...text.matchAll(/(?:^|\n)(?:[ \t>]*\n|[ \t>]*(?:[*+-]|\d{1,9}[.)]|#{1,6})[ \t]+)/g)].at(-1)
  const start = starts ? starts.index + starts[0].length : 0
  const cell = /(?:^|\n)[ \t]*\|/.test(text.slice(start)) ? Math.max(start, text.lastIndexOf('|') + 1) : start
  return { head: text.slice(0, cell), tail: text.slice(cell) }
}

function closeInline(text: string): string {
  const open: string[] = []
  let i = 0
  while (i < text.length) {
    const char = text[i]!
    if (char === '\\') i += 2
    else if (char === '`') {
      const run = runOf(text, i)
      const end = findRun(text, i + run.length, run)
      if (end < 0) return closed(i + run.length === text.length ? text.slice(0, i) : `${text.replace(/`+$/, (tail) => (tail.length < run.length ? '' : tail))}${run}`, open)
      i = end + run.length
    } else if (char === '*' || (char === '~' && text[i + 1] === '~')) {
      const run = runOf(text, i)
      const after = text[i + run.length]
      const before = text[i - 1]
      // At the very end a run that closes nothing whole is half of a mark: it waits.
      if (toggle(open, run, before, after) > 0 && after === undefined) return closed(text.slice(0, i), open)
      i += run.length
    } else if (char === ']' && text[i + 1] === '(') {
      const end = text.indexOf(')', i)
      if (end < 0) {
        const start = text.lastIndexOf('[', i)
        return closed(start < 0 ? text : `${text.slice(0, text[start - 1] === '!' ? start - 1 : start)}${text.slice(start + 1, i)}`, open)
      }
      i = end + 1
    } else i++
  }
  return closed(text, open)
}

function runOf(text: string, at: number): string {
  let end = at
  while (text[end] === text[at]) end++
  return text.slice(at, end)
}

function findRun(text: string, from: number, run: string): number {
  for (let at = text.indexOf(run, from); at >= 0; at = text.indexOf(run, at)) {
    const found = runOf(text, at)
    if (found.length === run.length) return at
    at += found.length
  }
  return -1
}

/** Closes and opens by the run; gives how much of it did neither. */
function toggle(open: string[], run: string, before: string | undefined, after: string | undefined): number {
  const canClose = before !== undefined && /\S/.test(before)
  const canOpen = after !== undefined && /\S/.test(after)
  let left = run.length
  while (canClose && left > 0) {
    const last = open.at(-1)
    if (!last || last[0] !== run[0] || last.length > left) break
    open.pop()
    left -= last.length
  }
  if (left === 0 || !canOpen) return left
  if (left >= 3 && run[0] === '*') open.push('*', '**')
  else open.push(run[0]!.repeat(Math.min(left, 2)))
  return 0
}

function closed(text: string, open: readonly string[]): string {
  if (!open.length) return text
  const body = text.trimEnd()
  return body + [...open].reverse().join('') + text.slice(body.length)
}
