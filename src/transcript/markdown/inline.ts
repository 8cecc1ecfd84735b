import type { Token, Tokens } from 'marked'
import { decodeEntities } from './entities'
import { safeAddress } from './links'
import type { Drawing } from './render'

/** The words that drawn Markdown holds; they come from the catalogue of the page's language. */
export interface MarkdownWords {
  copy: string
  /** `{n}` lines. */
  showAll: (lines: number) => string
  showLess: string
  /** Name of a picture that is not loaded. */
  picture: (alt: string) => string
  table: (columns: string) => string
  code: (language: string) => string
  taskDone: string
  taskOpen: string
}

export function renderInline(drawing: Drawing, tokens: readonly Token[], into: Node): void {
  for (const token of tokens) renderToken(drawing, token, into)
}

function renderToken(drawing: Drawing, token: Token, into: Node): void {
  const { document } = drawing
  switch (token.type) {
    case 'text': {
      const text = token as Tokens.Text
      if (text.tokens) renderInline(drawing, text.tokens, into)
      else write(drawing, decodeEntities(text.text), into)
      return
    }
    case 'escape': return write(drawing, (token as Tokens.Escape).text, into)
    case 'strong': return wrap(drawing, 'strong', token as Tokens.Strong, into)
    case 'em': return wrap(drawing, 'em', token as Tokens.Em, into)
    case 'del': return wrap(drawing, 'del', token as Tokens.Del, into)
    case 'br': return void into.appendChild(document.createElement('br'))
    case 'codespan': {
      const node = document.createElement('code')
      node.textContent = (token as Tokens.Codespan).text
      // Paths and commands read from left to right in every language.
      node.dir = 'ltr'
      into.appendChild(node)
      return
    }
    case 'link': return renderLink(drawing, token as Tokens.Link, into)
    case 'image': return renderImage(drawing, token as Tokens.Image, into)
    case 'html': {
      const raw = (token as Tokens.Tag).raw
      // The one tag that has a meaning without an attribute and that models write inside cells.
      if (/^<br\s*\/?>$/i.test(raw)) into.appendChild(document.createElement('br'))
      else write(drawing, raw, into)
      return
    }
    case 'checkbox': return
    default: return write(drawing, token.raw, into)
  }
}

function wrap(drawing: Drawing, tag: string, token: { tokens: Token[] }, into: Node): void {
  const node = drawing.document.createElement(tag)
  renderInline(drawing, token.tokens, node)
  into.appendChild(node)
}

/** Neighbouring pieces of text become one node, so that the tree depends on the text alone. */
function write(drawing: Drawing, text: string, into: Node): void {
  const last = into.lastChild
  if (last?.nodeType === 3) (last as Text).data += text
  else if (text !== '') into.appendChild(drawing.document.createTextNode(text))
}

/** A link opens in a new tab and tells nothing about us; one with another scheme is its words alone. */
function renderLink(drawing: Drawing, token: Tokens.Link, into: Node): void {
  const address = safeAddress(decodeEntities(token.href))
  if (!address) {
    const node = drawing.document.createElement('span')
    node.className = 'tx-nolink'
    node.title = token.href
    renderInline(drawing, token.tokens, node)
    into.appendChild(node)
    return
  }
  const node = anchor(drawing, address, token.title)
  renderInline(drawing, token.tokens, node)
  into.appendChild(node)
}

/** The page loads nothing from another host: a picture is a link to it (brief of this page; law 11). */
function renderImage(drawing: Drawing, token: Tokens.Image, into: Node): void {
  const { document, words } = drawing
  const address = safeAddress(decodeEntities(token.href))
  const node = address ? anchor(drawing, address, token.title) : document.createElement('span')
  if (!address) node.title = token.href
  node.classList.add('tx-picture')
  node.textContent = words.picture(decodeEntities(token.text))
  into.appendChild(node)
}

function anchor(drawing: Drawing, address: string, title: string | null | undefined): HTMLAnchorElement {
  const node = drawing.document.createElement('a')
  node.setAttribute('href', address)
  node.setAttribute('rel', 'noopener noreferrer')
  node.setAttribute('target', '_blank')
  if (title) node.title = decodeEntities(title)
  return node
}
