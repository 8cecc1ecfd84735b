import type { Token, Tokens } from 'marked'
import { levelOf } from './headings'
import { renderBlock, renderItem, renderListShell, type Drawing } from './render'
import { renderRow, tableBody } from './table'

/** A drawn block of the open piece, with what it was drawn from. */
export interface Drawn {
  key: string
  token: Token
  node: Element
}

/**
 * Draws the open piece anew and keeps every node whose source did not change: blocks, items of a growing list, rows of a growing table.
 * What comes out is the same tree as drawing from nothing. `nodes` stand at the end of `into`, in order.
 */
export function patch(drawing: Drawing, into: Element, drawn: readonly Drawn[], tokens: readonly Token[]): Drawn[] {
  const next: Drawn[] = []
  for (const token of tokens) {
    const before = drawn[next.length]
    const key = keyOf(token)
    if (before && before.key === key) {
      next.push(before)
      continue
    }
    const grown = before && grow(drawing, before, token)
    const node = grown ?? renderBlock(drawing, token)
    if (!node) continue
    if (!grown) {
      if (before) into.replaceChild(node, before.node)
      else into.appendChild(node)
    }
    next.push({ key, token, node })
  }
  for (const extra of drawn.slice(next.length)) extra.node.remove()
  return next
}

function keyOf(token: Token): string {
  const source = token.type === 'list' ? `${String((token as Tokens.List).loose)}${token.raw}` : token.raw
  if (token.type === 'heading') return `heading ${levelOf(token)}:${source}`
  return `${token.type}:${token.type === 'paragraph' ? source.replace(/\n+$/, '') : source}`
}

/** Adds to a list or table of the same head in place. */
function grow(drawing: Drawing, before: Drawn, token: Token): Element | null {
  if (before.token.type !== token.type) return null
  if (token.type === 'list') {
    const was = before.token as Tokens.List
    const is = token as Tokens.List
    if (was.ordered !== is.ordered || was.start !== is.start || was.loose !== is.loose) return null
    const shell = renderListShell(drawing, is)
    if (shell.localName !== before.node.localName) return null
    keepChildren(before.node, was.items, is.items, (item) => `${String(item.task)}${String(item.checked)}${item.raw}`, (item) => renderItem(drawing, item))
    return before.node
  }
  if (token.type === 'table') {
    const was = before.token as Tokens.Table
    const is = token as Tokens.Table
    const head = (table: Tokens.Table) => table.header.map((cell, i) => `${table.align[i] ?? ''}|${cell.text}`).join('\n')
    if (head(was) !== head(is)) return null
    const frame = before.node as HTMLElement
    keepChildren(tableBody(frame), was.rows, is.rows, (row) => row.map((cell) => cell.text).join('|'), (row) => renderRow(drawing, row))
    return frame
  }
  return null
}

function keepChildren<T>(into: Element, was: readonly T[], is: readonly T[], key: (item: T) => string, draw: (item: T) => Element): void {
  for (const [i, item] of is.entries()) {
    const old = was[i]
    if (old !== undefined && key(old) === key(item)) continue
    const node = draw(item)
    const place = into.children[i]
    if (place) into.replaceChild(node, place)
    else into.appendChild(node)
  }
  while (into.children.length > is.length) into.lastElementChild!.remove()
}

