import type { Token } from 'marked'
import { closeMarks } from './close-marks'
import { readInfo, renderCode, type CodeNodes } from './code'
import { levelHeadings, NO_HEADING, type HeadingState } from './headings'
import { lex, type Definitions } from './lexer'
import { patch, type Drawn } from './patch'
import { renderBlock, type Drawing, type MarkdownWords } from './render'
import { makeSegmenter } from './segments'

/**
 * Markdown that grows: the one way in which answers are drawn, live and settled alike (DESIGN §7). Text goes in by `push`, cut anywhere,
 * also inside a character; blocks that nothing can change any more are drawn once and left alone; the open piece at the end is drawn anew,
 * with its open marks closed. After `finish` the tree depends on the text alone.
 */
export interface Markdown {
  /** `more`: another piece follows at once, so that what is open need not be drawn yet. */
  push: (text: string, more?: boolean) => void
  /** Draws what waits because a long open piece is not drawn with every delta; for when no delta comes for a while. */
  rest: () => void
  /** The text is complete. Nothing may follow. */
  finish: () => void
  /** Characters lexed so far: what the test of linear cost counts. */
  work: () => number
}

export interface MarkdownOptions {
  document: Document
  words: MarkdownWords
  /** A code block is complete: it may be highlighted. */
  onCode?: (code: HTMLElement, language: string) => void
}

/** A piece that was drawn for good but names a label: a definition that comes later redraws it. */
interface Pending { raw: string; labels: Set<string>; nodes: Element[]; headings: HeadingState }

/** Above this length an open piece is drawn anew only when it has grown by a part of itself, so that text without a cut stays linear. */
const EAGER = 4096
const PART = 48

export function makeMarkdown(into: Element, options: MarkdownOptions): Markdown {
  const drawing: Drawing = options
  const definitions: Definitions = Object.create(null) as Definitions
  const pending: Pending[] = []
  /** What the open piece defines for now; it may still change with its next character. */
  let provisional: Definitions = {}
  let drawn: Drawn[] = []
  let drawnLength = 0
  let fence: { nodes: CodeNodes; lines: number; text: Text; tail: Text; language: string } | null = null
  /** Of what is closed, and of it with the open piece. */
  let headings = NO_HEADING
  let headingsOpen = NO_HEADING
  let carried = ''
  let work = 0
  let finished = false

  const draw = (text: string, final: boolean) => {
    work += text.length
    const lexed = lex(text, definitions)
    headingsOpen = levelHeadings(lexed.tokens, headings)
    changeProvisional(final ? {} : lexed.defined, lexed.defined)
    drawn = patch(drawing, into, drawn, lexed.tokens)
    drawnLength = text.length
    return lexed
  }
  /** Definitions of the open piece count at once, as they do at the end of the text; those of a closed one stay. */
  const changeProvisional = (next: Definitions, all: Definitions) => {
    const before = { ...provisional }
    provisional = next
    const changed = new Set<string>()
    for (const tag of new Set([...Object.keys(before), ...Object.keys(all)])) {
      if (before[tag]?.href !== all[tag]?.href || before[tag]?.title !== all[tag]?.title) changed.add(tag)
    }
    if (!changed.size) return
    // What the open piece shows was drawn with other definitions.
    for (const block of drawn) block.node.remove()
    drawn = []
    redraw(changed, all)
  }
  const redraw = (tags: Set<string>, open: Definitions) => {
    for (const piece of pending) {
      if (![...tags].some((tag) => piece.labels.has(tag))) continue
      work += piece.raw.length
      const tokens = lex(piece.raw, { ...definitions, ...open }).tokens
      levelHeadings(tokens, piece.headings)
      const nodes = tokens.map((token) => renderBlock(drawing, token)).filter((node) => node !== null)
      const place = piece.nodes.at(-1)?.nextSibling ?? null
      for (const node of piece.nodes) node.remove()
      for (const node of nodes) into.insertBefore(node, place)
      piece.nodes = nodes
      tellCode(tokens, nodes)
    }
  }
  const tellCode = (tokens: readonly Token[], nodes: readonly Element[]) => {
    if (!options.onCode || !tokens.some((token) => 'raw' in token && /```|~~~|^ {4}/m.test(token.raw))) return
    for (const node of nodes) {
      const figures = node.matches('figure.tx-code') ? [node] : [...node.querySelectorAll('figure.tx-code')]
      for (const figure of figures) options.onCode(figure.querySelector('code')!, (figure as HTMLElement).dataset.lang ?? '')
    }
  }
  const segmenter = makeSegmenter({
    close: (text) => {
      // Definitions of this very piece were provisional and become lasting; the redraw they cause has been done or is done here.
      const lexed = draw(text, true)
      Object.assign(definitions, lexed.defined)
      const nodes = drawn.map((block) => block.node)
      if (lexed.labels.size && nodes.length) pending.push({ raw: text, labels: lexed.labels, nodes, headings })
      headings = headingsOpen
      tellCode(lexed.tokens, nodes)
      drawn = []
      drawnLength = 0
    },
    openFence: (info) => {
      changeProvisional({}, {})
      drawn = patch(drawing, into, drawn, [])
      drawnLength = 0
      const nodes = renderCode(drawing, info, '')
      const text = options.document.createTextNode('')
      const tail = options.document.createTextNode('')
      nodes.code.append(text, tail)
      into.appendChild(nodes.figure)
      fence = { nodes, lines: 0, text, tail, language: readInfo(info).language }
    },
    fenceLine: (line) => {
      if (!fence) return
      fence.text.appendData(fence.lines > 0 ? `\n${line}` : line)
      fence.lines++
    },
    closeFence: () => {
      if (!fence) return
      fence.tail.remove()
      if (fence.text.data === '') fence.text.remove()
      fence.nodes.lines(fence.lines)
      options.onCode?.(fence.nodes.code, fence.language)
      fence = null
    },
  })
  /** Draws what is not closed yet, as it stands. */
  const drawOpen = () => {
    const tail = segmenter.fenceTail()
    if (fence && tail !== null) {
      fence.tail.data = tail === '' ? '' : fence.lines > 0 ? `\n${tail}` : tail
      fence.nodes.lines(fence.lines)
      return
    }
    const open = segmenter.open()
    if (open.length > EAGER && open.length - drawnLength < open.length / PART && open.length > drawnLength) return
    draw(closeMarks(open), false)
    drawnLength = open.length
  }

  return {
    push: (text, more = false) => {
      if (finished || text === '') return
      const whole = carried + text
      const keep = carry(whole)
      carried = whole.slice(whole.length - keep)
      segmenter.push(whole.slice(0, whole.length - keep).replace(/\r\n?/g, '\n'))
      if (!more) drawOpen()
    },
    rest: () => {
      const open = segmenter.open()
      if (!finished && open.length > drawnLength) {
        draw(closeMarks(open), false)
        drawnLength = open.length
      }
    },
    finish: () => {
      if (finished) return
      finished = true
      segmenter.push(carried.replace(/\r\n?/g, '\n'))
      carried = ''
      segmenter.finish()
    },
    work: () => work + segmenter.work(),
  }
}

/** How many units at the end must wait for the next piece: half a character, or a carriage return whose newline may follow. */
function carry(text: string): number {
  const last = text.charCodeAt(text.length - 1)
  return last === 13 || (last >= 0xd800 && last <= 0xdbff) ? 1 : 0
}
