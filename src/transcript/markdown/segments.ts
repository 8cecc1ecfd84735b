import { beginsBlock } from './lexer'

/**
 * Cuts a growing text into pieces that can be drawn for good (DESIGN §7). Where it cuts depends on the text alone, never on how it
 * arrived: every decision is taken from whole lines, or from the first character of a line where that settles it. A piece ends where a
 * blank line is followed by something that cannot belong to the block before it, and around top-level fences, whose lines are passed on
 * one by one because a long code block must not be lexed again for each of its lines.
 */
export interface Pieces {
  /** The open piece is complete with this text; an empty one begins. */
  close: (text: string) => void
  /** A fence begins. `info` is what stands behind the marks. */
  openFence: (info: string) => void
  /** A whole line of the fence, without its newline. */
  fenceLine: (line: string) => void
  /** `closed` is false when the text ended inside. */
  closeFence: (closed: boolean) => void
}

export interface Segmenter {
  push: (text: string) => void
  /** The text is complete. */
  finish: () => void
  /** What is not cut off yet: whole lines and the beginning of the last one. Empty inside a fence. */
  open: () => string
  /** The unfinished last line inside a fence, or null when no fence is open. */
  fenceTail: () => string | null
  /** Characters looked at so far, for the test of cost. */
  work: () => number
}

interface Fence { mark: string; indent: number; line: RegExp }

const FENCE = /^( {0,3})(`{3,})([^`\n]*)$|^( {0,3})(~{3,})([^\n]*)$/
/** A line that may go on with a list or an indented block after a blank line, or is too short to tell. */
const MAY_CONTINUE = /^[ \t]|^[*+-](?:[ \t]|$)|^\d{1,9}(?:[.)](?:[ \t]|$)|$)/

export function makeSegmenter(out: Pieces): Segmenter {
  let piece = ''
  let line = ''
  let blankBefore = false
  /** The beginning of `line` was seen to open a new block, so that the piece before it is closed already. */
  let decided = false
  let fence: Fence | null = null
  /** After a failed look at a piece of this length the next look of its kind waits until it has doubled: a text without a cut stays linear. */
  const failedAt = { plain: 0, inner: 0 }
  let work = 0

  const look = (next: string, kind: keyof typeof failedAt) => {
    if (piece.length < failedAt[kind] * 2) return null
    work += piece.length
    const found = beginsBlock(piece + next, piece.length)
    failedAt[kind] = found ? 0 : piece.length
    return found
  }
  const cut = () => {
    if (piece !== '') out.close(piece)
    piece = ''
    blankBefore = false
    failedAt.plain = failedAt.inner = 0
  }
  /** Called as soon as the line's beginning is there; a line that cannot continue anything needs no more. */
  const decide = (whole: boolean) => {
    if (decided || !blankBefore || piece === '' || line.trim() === '') return
    if (!MAY_CONTINUE.test(line)) {
      decided = true
      if (look('x', 'plain')) cut()
    } else if (whole) {
      decided = true
      if (!/^[ \t]{2,}/.test(line) && look(`${line}\n`, 'inner')) cut()
    }
  }
  const beginFence = (match: RegExpExecArray) => {
    const indent = (match[1] ?? match[4]!).length
    const mark = match[2] ?? match[5]!
    const info = (match[3] ?? match[6]!).trim()
    fence = { mark, indent: mark[0] === '`' ? indent : 0, line: new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},} *$`) }
    out.openFence(info)
  }
  const endLine = () => {
    if (fence) {
      if (fence.line.test(line)) {
        fence = null
        out.closeFence(true)
      } else out.fenceLine(unindent(line, fence.indent))
    } else {
      decide(true)
      const match = FENCE.exec(line)
      // A fence in a list or in HTML belongs to them: the lexer says so.
      if (match && (piece === '' || look(`${line}\n`, inList(line)) === 'fence')) {
        cut()
        beginFence(match)
      } else {
        piece += `${line}\n`
        blankBefore = line.trim() === ''
      }
    }
    line = ''
    decided = false
  }

  return {
    push: (text) => {
      work += text.length
      let from = 0
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
        line += text.slice(from, end)
        endLine()
        from = end + 1
      }
      line += text.slice(from)
      if (!fence) decide(false)
    },
    finish: () => {
      if (fence) {
        const closed = fence.line.test(line)
        if (!closed && line !== '') out.fenceLine(unindent(line, fence.indent))
        fence = null
        line = ''
        out.closeFence(closed)
        return
      }
      decide(true)
      const match = FENCE.exec(line)
      if (match && (piece === '' || look(line, inList(line)) === 'fence')) {
        cut()
        line = ''
        beginFence(match)
        fence = null
        out.closeFence(false)
        return
      }
      piece += line
      line = ''
      cut()
    },
    open: () => (fence ? '' : piece + line),
    fenceTail: () => (fence ? (/^ {0,3}[`~]*$/.test(line) ? '' : unindent(line, fence.indent)) : null),
    work: () => work,
  }
}

/** Two blanks are enough to belong to a list item. */
function inList(line: string): 'plain' | 'inner' {
  return line.startsWith('  ') ? 'inner' : 'plain'
}

function unindent(line: string, indent: number): string {
  let n = 0
  while (n < indent && (line[n] === ' ' || line[n] === '\t')) n++
  return n ? line.slice(n) : line
}
