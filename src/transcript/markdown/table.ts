import type { Tokens } from 'marked'
import { renderInline } from './inline'
import type { Drawing } from './render'

/** A table in a scroller that has a name and takes the focus, so that a keyboard reaches its far columns (design/LANGUAGE.md §8). */
export function renderTable(drawing: Drawing, token: Tokens.Table): HTMLElement {
  const node = renderTableShell(drawing, token)
  const body = tableBody(node)
  for (const row of token.rows) body.appendChild(renderRow(drawing, row))
  return node
}

/** The table without its rows, which a growing table keeps. */
export function renderTableShell(drawing: Drawing, token: Tokens.Table): HTMLElement {
  const { document, words } = drawing
  const frame = document.createElement('div')
  frame.className = 'tx-table'
  const scroller = document.createElement('div')
  scroller.className = 'tx-scroller'
  scroller.tabIndex = 0
  scroller.setAttribute('role', 'region')
  const table = document.createElement('table')
  const head = document.createElement('thead')
  const line = document.createElement('tr')
  for (const cell of token.header) line.appendChild(renderCell(drawing, 'th', cell))
  scroller.setAttribute('aria-label', words.table([...line.children].map((cell) => cell.textContent?.trim()).filter(Boolean).slice(0, 3).join(', ')))
  head.append(line)
  table.append(head, document.createElement('tbody'))
  scroller.append(table)
  frame.append(scroller)
  return frame
}

export function tableBody(frame: HTMLElement): HTMLElement {
  return frame.querySelector('tbody')!
}

export function renderRow(drawing: Drawing, cells: readonly Tokens.TableCell[]): HTMLElement {
  const row = drawing.document.createElement('tr')
  for (const cell of cells) row.appendChild(renderCell(drawing, 'td', cell))
  return row
}

function renderCell(drawing: Drawing, tag: 'th' | 'td', cell: Tokens.TableCell): HTMLElement {
  const node = drawing.document.createElement(tag)
  node.dir = 'auto'
  if (tag === 'th') node.setAttribute('scope', 'col')
  if (cell.align) node.className = cell.align === 'right' ? 'tx-end' : cell.align === 'center' ? 'tx-mid' : 'tx-start'
  else if (tag === 'td' && /^[\s$€£¥+−–-]*\d[\d.,\s\u00a0]*\s?(?:%|[a-zA-Z]{0,3})$/.test(cell.text)) node.className = 'tx-num'
  renderInline(drawing, cell.tokens, node)
  return node
}
