import type { ToolVerb } from '../../contract/rows'
import { RUN_PROBLEMS } from '../../contract/problems'
import type { RunProblemCode } from '../../contract/problems'
import type { Usage } from '../../contract/session'

/** What a tool does in a script; times in ms. */
export interface ScriptedTool {
  call?: string
  parent?: string
  verb?: ToolVerb
  target?: string
  title?: string
  args?: unknown
  output?: string
  result?: string
  diff?: string
  exit?: number
  state?: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'
  ms?: number
  /** Left open; a later `end` of the same call closes it. */
  open?: boolean
}

/** One thing that the scripted agent does. Programs are data; `play.ts` performs them. */
export type Step =
  | { do: 'say' | 'reason'; text: string }
  /** One delta, exactly as given; surrogate halves and combining marks may stand alone. */
  | { do: 'raw'; delta: string }
  | { do: 'replace'; from: number; text: string }
  | { do: 'segment' }
  | { do: 'deltas'; count: number }
  | { do: 'size'; units: number }
  | { do: 'tool'; name: string; tool: ScriptedTool }
  | { do: 'end'; call: string; tool: ScriptedTool }
  /** Asks for each command at once, and goes on when all are answered. */
  | { do: 'ask'; commands: string[]; alone?: boolean }
  /** Asks and takes the question back after `ms`. */
  | { do: 'expire'; command: string; ms: number }
  | { do: 'delay'; ms: number }
  | { do: 'silence' }
  /** Waits as `silence` does, and does not end when it is told to stop. */
  | { do: 'deaf' }
  | { do: 'error'; code: RunProblemCode; words: string }
  | { do: 'crash'; words: string }
  | { do: 'usage'; usage: Usage }
  | { do: 'notice'; code: string; words: string }
  | { do: 'title'; text: string }
  | { do: 'context'; messages: unknown[] }

const DIRECTIVE = /\[\[([a-z]+)(?::((?:(?!\]\])[\s\S])*\]?))?\]\]/g

/** Text whose characters fall apart between UTF-16 units: emoji, flags, joined families, combining marks, Indic and Thai clusters. */
export const SPLIT_TEXT = 'a\u{1F680}e\u0301 \u{1F469}\u200D\u{1F469}\u200D\u{1F467} \u{1F1EE}\u{1F1F9} \u0915\u094D\u0937 \u0E17\u0E35\u0E48 \u{20BB7}z'

/**
 * The program that a message names by directives (`[[say:Hello]] [[tool:read {"target":"a.md"}]] …`), or null when it names none. Text outside
 * of directives is not played; two closing brackets end one, so JSON within writes `] ]`. An unknown directive or arguments that do not parse become words of the answer, so that a slip is seen.
 */
export function parseScript(message: string): Step[] | null {
  const steps: Step[] = []
  for (const match of message.matchAll(DIRECTIVE)) {
    const step = parseStep(match[1]!, match[2] ?? '')
    if (Array.isArray(step)) steps.push(...step)
    else steps.push(step ?? { do: 'say', text: `(not understood: ${match[0]}) ` })
  }
  return steps.length ? steps : null
}

function parseStep(name: string, rest: string): Step | Step[] | null {
  switch (name) {
    case 'say':
    case 'reason':
      return { do: name, text: rest }
    case 'raw':
      return { do: 'raw', delta: rest }
    case 'split':
      return [...(rest || SPLIT_TEXT).split('')].map((delta) => ({ do: 'raw', delta }))
    case 'replace': {
      const [from, text] = word(rest)
      return count(from, (n) => ({ do: 'replace', from: n, text }))
    }
    case 'segment':
    case 'silence':
    case 'deaf':
      return { do: name }
    case 'deltas':
      return count(rest, (n) => ({ do: 'deltas', count: n }))
    case 'size':
      return count(rest, (n) => ({ do: 'size', units: n }))
    case 'delay':
      return count(rest, (n) => ({ do: 'delay', ms: n }))
    case 'tool':
    case 'end': {
      const [first, json] = word(rest)
      const tool = object(json)
      if (!first || !tool) return null
      return name === 'tool' ? { do: 'tool', name: first, tool } : { do: 'end', call: first, tool }
    }
    case 'ask':
    case 'question':
      return rest ? { do: 'ask', commands: rest.split('||').map((command) => command.trim()), ...(name === 'question' ? { alone: true } : {}) } : null
    case 'expire': {
      const [ms, command] = word(rest)
      return count(ms, (n) => ({ do: 'expire', command, ms: n }))
    }
    case 'error': {
      const [code, words] = word(rest)
      return (RUN_PROBLEMS as readonly string[]).includes(code) ? { do: 'error', code: code as RunProblemCode, words } : null
    }
    case 'crash':
      return { do: 'crash', words: rest || 'the scripted agent crashed' }
    case 'usage': {
      const usage = object(rest)
      return usage ? { do: 'usage', usage: usage as Usage } : null
    }
    case 'notice': {
      const [code, words] = word(rest)
      return { do: 'notice', code, words }
    }
    case 'title':
      return { do: 'title', text: rest }
    case 'context': {
      const message = object(rest)
      return message ? { do: 'context', messages: [message] } : null
    }
    default:
      return null
  }
}

function word(text: string): [string, string] {
  const [, first = '', rest = ''] = /^\s*(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  return [first, rest]
}

function count(text: string, make: (n: number) => Step): Step | null {
  const n = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(n) && n >= 0 ? make(n) : null
}

function object(json: string): ScriptedTool | null {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
