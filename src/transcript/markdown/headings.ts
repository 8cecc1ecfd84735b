import type { Token, Tokens } from 'marked'

/** Where the headings of an answer have come to; the same for the same text before. */
export interface HeadingState { base: number; last: number }

/** Before the first heading: the question of the turn is an h2. */
export const NO_HEADING: HeadingState = { base: 0, last: 2 }

const levels = new WeakMap<Token, number>()

/**
 * Gives each heading its level for assistive technology: the first one is an h3 whatever its marks, deeper ones go down one level at a
 * time, so that the outline of a page has no holes (design/LANGUAGE.md §8). Size on screen follows the marks. Returns the state after.
 */
export function levelHeadings(tokens: readonly Token[], before: HeadingState): HeadingState {
  let state = before
  const walk = (all: readonly Token[]) => {
    for (const token of all) {
      if (token.type === 'heading') {
        const { depth } = token as Tokens.Heading
        const base = state.base === 0 ? depth : Math.min(state.base, depth)
        const last = Math.min(6, state.last + 1, 3 + depth - base)
        state = { base, last }
        levels.set(token, last)
      } else if (token.type === 'list') for (const item of (token as Tokens.List).items) walk(item.tokens)
      else if (token.type === 'blockquote') walk((token as Tokens.Blockquote).tokens)
    }
  }
  walk(tokens)
  return state
}

export function levelOf(token: Token): number {
  return levels.get(token) ?? 3
}
