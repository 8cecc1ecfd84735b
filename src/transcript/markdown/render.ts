import type { Token, Tokens } from 'marked'
import { renderCode } from './code'
import { levelOf } from './headings'
import { renderInline, type MarkdownWords } from './inline'
import { renderTable } from './table'

export type { MarkdownWords } from './inline'

/** What a renderer is given: the document that makes nodes, and the few words that stand in them. */
export interface Drawing {
  document: Document
  words: MarkdownWords
}

/**
 * Nodes for block tokens. Only `createElement`, text and plain attributes: there is no HTML string, so nothing to sanitize and no
 * Trusted Types sink (law 11). HTML in the text is shown as it is written. Headings have the level that `levelHeadings` gave them.
 */
export function renderBlocks(drawing: Drawing, tokens: readonly Token[], into: Node, nested = false): void {
  for (const token of tokens) {
    const node = renderBlock(drawing, token, nested)
    if (node) into.appendChild(node)
  }
}

/**
 * One block, or null for what is not shown (blank lines, definitions). Only an outermost block finds its own direction: marks of lists and
 * lines of quotes stand at the side that their text begins on.
 */
export function renderBlock(drawing: Drawing, token: Token, nested = false): Element | null {
  const { document } = drawing
  switch (token.type) {
    case 'heading': {
      const heading = token as Tokens.Heading
      const node = prose(drawing, `h${levelOf(token)}`, heading.tokens, nested)
      node.className = `tx-h${heading.depth}`
      return node
    }
    case 'paragraph': return prose(drawing, 'p', (token as Tokens.Paragraph).tokens, nested)
    case 'text': {
      const text = token as Tokens.Text
      return prose(drawing, 'p', text.tokens ?? [text], nested)
    }
    case 'html': {
      const node = document.createElement('p')
      node.className = 'tx-raw'
      if (!nested) node.dir = 'auto'
      node.textContent = (token as Tokens.HTML).text.replace(/\n+$/, '')
      return node
    }
    case 'code': {
      const code = token as Tokens.Code
      return renderCode(drawing, code.lang ?? '', code.text.replace(/\n$/, '')).figure
    }
    case 'blockquote': {
      const node = document.createElement('blockquote')
      if (!nested) node.dir = 'auto'
      renderBlocks(drawing, (token as Tokens.Blockquote).tokens, node, true)
      return node
    }
    case 'list': {
      const list = token as Tokens.List
      const node = renderListShell(drawing, list, nested)
      for (const item of list.items) node.appendChild(renderItem(drawing, item))
      return node
    }
    case 'table': return renderTable(drawing, token as Tokens.Table)
    case 'hr': return document.createElement('hr')
    default: return null
  }
}

/** The list without its items, which a growing list keeps. */
export function renderListShell(drawing: Drawing, list: Tokens.List, nested = false): HTMLElement {
  const node = drawing.document.createElement(list.ordered ? 'ol' : 'ul')
  if (!nested) node.dir = 'auto'
  if (list.ordered && list.start !== '' && list.start !== 1) node.setAttribute('start', String(list.start))
  return node
}

export function renderItem(drawing: Drawing, item: Tokens.ListItem): HTMLElement {
  const { document, words } = drawing
  const node = document.createElement('li')
  if (item.task) {
    node.className = 'tx-task'
    const box = document.createElement('span')
    box.className = item.checked ? 'tx-box tx-on' : 'tx-box'
    box.setAttribute('role', 'img')
    box.setAttribute('aria-label', item.checked ? words.taskDone : words.taskOpen)
    node.appendChild(box)
  }
  for (const token of item.tokens) {
    if (token.type === 'checkbox') continue
    // Text of a tight item stands in it without a paragraph; that of a loose one is a paragraph by the lexer.
    if (token.type === 'text') renderInline(drawing, (token as Tokens.Text).tokens ?? [token], node)
    else {
      const child = renderBlock(drawing, token, true)
      if (child) node.appendChild(child)
    }
  }
  return node
}

function prose(drawing: Drawing, tag: string, tokens: readonly Token[], nested: boolean): HTMLElement {
  const node = drawing.document.createElement(tag)
  if (!nested) node.dir = 'auto'
  renderInline(drawing, tokens, node)
  return node
}
