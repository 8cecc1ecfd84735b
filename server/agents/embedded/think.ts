/** Text of a message, told apart. */
export interface Told { kind: 'text' | 'reasoning'; delta: string }

const OPENING = /^\s*<(think|thinking|thought|reasoning)>/
const OPENINGS = ['<think>', '<thinking>', '<thought>', '<reasoning>']

/**
 * A thinking tag at the very start of a message opens a thought; any later one is answer text from its first character (spec/log.md §4, R226). Tags may be
 * cut anywhere; text is held back only while it can still become the tag. A thought that never closes stays a thought.
 */
export function makeThinkSplit(): { push(delta: string): Told[]; end(): Told[] } {
  let state: 'start' | 'thought' | 'after' | 'text' = 'start'
  let held = ''
  let closing = ''

  const step = (out: Told[]): void => {
    if (state === 'start') {
      const match = OPENING.exec(held)
      if (match) {
        closing = `</${match[1]}>`
        held = held.slice(match[0].length)
        state = 'thought'
      } else {
        const begun = held.trimStart()
        if (begun === '' || OPENINGS.some((tag) => tag.startsWith(begun))) return
        state = 'text'
      }
    }
    if (state === 'thought') {
      const at = held.indexOf(closing)
      const keep = at < 0 ? heldTail(held, closing) : 0
      const thought = at < 0 ? held.slice(0, held.length - keep) : held.slice(0, at)
      if (thought !== '') out.push({ kind: 'reasoning', delta: thought })
      held = at < 0 ? held.slice(held.length - keep) : held.slice(at + closing.length)
      if (at < 0) return
      state = 'after'
    }
    if (state === 'after') {
      held = held.trimStart()
      if (held === '') return
      state = 'text'
    }
    if (held !== '') out.push({ kind: 'text', delta: held })
    held = ''
  }
  return {
    push: (delta) => {
      held += delta
      const out: Told[] = []
      step(out)
      return out
    },
    end: () => {
      const kind = state === 'thought' ? 'reasoning' : 'text'
      const rest = held
      held = ''
      return rest === '' || (state === 'start' && rest.trim() === '') ? [] : [{ kind, delta: rest }]
    },
  }
}

/** How many units at the end of `text` may be the beginning of `tag`. */
function heldTail(text: string, tag: string): number {
  for (let n = Math.min(text.length, tag.length - 1); n > 0; n--) if (tag.startsWith(text.slice(text.length - n))) return n
  return 0
}
