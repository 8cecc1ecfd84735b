import { Lexer, Tokenizer, type MarkedOptions, type Token, type Tokens } from 'marked'

/** Link definitions by label, as the lexer normalises it. */
export type Definitions = Record<string, Pick<Tokens.Link | Tokens.Image, 'href' | 'title'>>

export interface Lexed {
  tokens: Token[]
  /** Definitions that stand in this text and were not known before. */
  defined: Definitions
  /** Labels that this text could refer to; a new definition of one of them redraws it. Empty for most texts. */
  labels: Set<string>
}

const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff00-\uffef]/u

/** Marks that end a bare address in CJK text; the lexer knows only the ASCII ones. */
const CJK_END = /[、。，．；：？！（）「」『』【】《》〈〉…]/

/**
 * GitHub's Markdown with a few local rules (spec/frontend.md §3.1): a single newline breaks the line (an option), `_` is literal because
 * agents write paths and names, a bare address ends where CJK punctuation begins, and bold text may end in it.
 */
class Rules extends Tokenizer {
  override emStrong(src: string, masked: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    if (src.charCodeAt(0) === 95) return undefined
    return super.emStrong(src, masked, before) ?? this.#strongInCjk(src, before)
  }

  /** Text without blanks between words has bold parts that end in punctuation (`**注意：**请`), where the general rule sees no end. */
  #strongInCjk(src: string, before?: string): Tokens.Strong | undefined {
    const found = /^\*\*(?![\s*])([^*\n]*[^\s*])\*\*(?!\*)/.exec(src)
    if (!found || !(CJK.test(src[found[0].length] ?? '') || CJK.test(before ?? ''))) return undefined
    return { type: 'strong', raw: found[0], text: found[1]!, tokens: this.lexer.inlineTokens(found[1]!) }
  }

  /** The library reads a list inside a quote anew; after the text of a list item it takes it for none and fails (`- a > b\n  > -`). */
  override blockquote(src: string): Tokens.Blockquote | undefined {
    const { state } = this.lexer
    const last = state.lastToken
    delete state.lastToken
    try {
      return super.blockquote(src)
    } finally {
      if (last) state.lastToken = last
    }
  }

  override url(src: string): Tokens.Link | undefined {
    const found = super.url(src)
    const end = found ? found.raw.search(CJK_END) : -1
    return end > 0 ? super.url(src.slice(0, end)) : found
  }
}

/** Notes the bracketed labels of everything that is lexed as inline text, and keeps a block from changing how the next one is read. */
class NotingLexer extends Lexer {
  readonly labels = new Set<string>()
  #depth = 0

  override inlineTokens(src: string, tokens?: Token[]): Token[] {
    // The library goes on with "inside a link" after an unclosed `<a>`, over all blocks that follow.
    if (this.#depth === 0) this.state.inLink = this.state.linkEmitted = false
    this.#depth++
    try {
      return this.#noted(src, tokens)
    } finally {
      this.#depth--
    }
  }

  #noted(src: string, tokens?: Token[]): Token[] {
    if (src.includes('[')) for (const match of src.matchAll(/\[((?:\\[\s\S]|[^[\]\\])+)\]/g)) this.labels.add(label(match[1]!))
    return super.inlineTokens(src, tokens)
  }
}

/** As the lexer compares labels. */
function label(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase().toLowerCase()
}

function options(): MarkedOptions {
  return { gfm: true, breaks: true, tokenizer: new Rules() }
}

/** Blocks and inline text of a piece that stands for itself, with definitions known from elsewhere in the same answer. */
export function lex(src: string, known: Definitions): Lexed {
  const lexer = new NotingLexer(options())
  Object.assign(lexer.tokens.links, known)
  const tokens = lexed(lexer, src)
  const defined: Definitions = {}
  for (const [tag, target] of Object.entries(lexer.tokens.links)) if (!(tag in known)) defined[tag] = target
  return { tokens, defined, labels: lexer.labels }
}

/** Text that the library fails on is shown as it is written: one answer must not end the page. */
function lexed(lexer: NotingLexer, src: string): Token[] {
  try {
    return [...lexer.lex(src)]
  } catch {
    return [{ type: 'paragraph', raw: src, text: src, tokens: [{ type: 'text', raw: src, text: src, escaped: false }] } satisfies Tokens.Paragraph]
  }
}

/** True when a block begins exactly at `at`: what stands before it can be drawn for good. Only blocks are lexed, no inline text. */
export function beginsBlock(src: string, at: number): 'fence' | 'block' | null {
  let length = 0
  let tokens: Token[]
  try {
    tokens = new Lexer(options()).blockTokens(src, [])
  } catch {
    return null
  }
  for (const token of tokens) {
    if (length === at && token.type !== 'space') return token.type === 'code' && (token as Tokens.Code).codeBlockStyle !== 'indented' ? 'fence' : 'block'
    length += token.raw.length
    if (length > at) return null
  }
  return null
}
