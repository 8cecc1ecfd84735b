import type { Usage } from '../../contract/session'
import { makeCalls, type WholeCall } from './calls'
import type { FinishReason, Part } from './dialect'
import type { Failure } from './failure'
import { makeThinkSplit, type Told } from './think'

/** One message of the model, as far as it came. */
export interface Reply {
  text: string
  reasoning: string
  signature?: string
  calls: WholeCall[]
  usage?: Usage
  finish?: FinishReason
  /** The provider's own sign of the end was seen. */
  done: boolean
  failure?: Failure
  /** Frames that were not what they should be. */
  skipped: number
  /** Parts that said anything. */
  heard: number
}

/**
 * Puts one message together from its parts and tells text and thoughts as they come. Repeats are cut here: a last chunk that has the whole
 * answer once more (R229), and an answer mirrored in the reasoning field (R227) in the same chunk, piece by piece, or after the text. What
 * was already told cannot be taken back, so an answer mirrored *before* its text in more than one piece stays a thought, too.
 */
export function makeReply(): { add(part: Part): Told[]; end(): Told[]; reply(mint: (n: number) => string): Reply } {
  const split = makeThinkSplit()
  const calls = makeCalls()
  const state: Omit<Reply, 'calls'> = { text: '', reasoning: '', done: false, skipped: 0, heard: 0 }
  let raw = ''
  let pieces = 0
  /** A first piece of reasoning is held until the next part shows that it is no mirror. */
  let held = ''
  let mirror: 'open' | 'yes' | 'no' = 'open'

  const tell = (told: Told[]): Told[] => {
    for (const { kind, delta } of told) state[kind === 'text' ? 'text' : 'reasoning'] += delta
    return told
  }
  const release = (): Told[] => {
    const delta = held
    held = ''
    mirror = 'no'
    return delta === '' ? [] : tell([{ kind: 'reasoning', delta }])
  }
  const thought = (delta: string): Told[] => {
    if (mirror === 'no') return tell([{ kind: 'reasoning', delta }])
    const first = held === ''
    held += delta
    const echo = raw !== '' && (raw.startsWith(held) || (mirror === 'yes' && held.startsWith(raw)))
    if (echo || (first && raw === '')) return []
    return release()
  }
  const said = (delta: string): Told[] => {
    const before: Told[] = []
    if (held !== '' && mirror !== 'yes' && raw === '') {
      if (held.startsWith(delta) || delta.startsWith(held)) mirror = 'yes'
      else before.push(...release())
    }
    raw += delta
    pieces += 1
    if (mirror === 'yes' && !held.startsWith(raw) && !raw.startsWith(held)) before.push(...release())
    return [...before, ...tell(split.push(delta))]
  }
  const add = (part: Part): Told[] => {
    if (part.type === 'skipped') {
      state.skipped += 1
      return []
    }
    state.heard += 1
    switch (part.type) {
      case 'text':
        if (part.delta === '' || (part.last && pieces > 1 && part.delta === raw)) return []
        return said(part.delta)
      case 'whole': {
        const rest = raw === '' ? part.text : part.text.startsWith(raw) ? part.text.slice(raw.length) : ''
        return rest === '' ? [] : said(rest)
      }
      case 'reasoning': return part.delta === '' ? [] : thought(part.delta)
      case 'signature': state.signature = (state.signature ?? '') + part.signature; return []
      case 'call': {
        const told = raw === '' ? release() : []
        calls.add(part.fragment)
        return told
      }
      case 'usage': state.usage = { ...state.usage, ...part.usage }; return []
      case 'finish': state.finish = part.reason; return []
      case 'done': state.done = true; return []
      case 'failure': state.failure ??= { words: part.words, status: part.status, code: part.code }; return []
    }
  }
  return {
    add,
    end: () => {
      const mirrored = held !== '' && raw.trim() !== '' && held.trim() === raw.trim()
      if (mirrored) held = ''
      return [...release(), ...tell(split.end())]
    },
    reply: (mint) => ({ ...state, calls: calls.all(mint) }),
  }
}
