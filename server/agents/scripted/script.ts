import type { Choice, ChoiceKind } from '../../contract/approvals'
import { problemOf } from '../../contract/classify'
import { RUN_PROBLEMS } from '../../contract/problems'
import type { RunProblemCode } from '../../contract/problems'
import type { PlanEntry } from '../../contract/rows'
import type { Usage } from '../../contract/session'
import { choicesOf } from './step'
import type { AskOrder, SteerMode, Step } from './step'

const DIRECTIVE = /\[\[([a-z]+)(?::((?:(?!\]\])[\s\S])*\]?))?\]\]/g

/** Text whose characters fall apart between UTF-16 units: emoji, flags, joined families, combining marks, Indic and Thai clusters. */
export const SPLIT_TEXT = 'a\u{1F680}e\u0301 \u{1F469}\u200D\u{1F469}\u200D\u{1F467} \u{1F1EE}\u{1F1F9} \u0915\u094D\u0937 \u0E17\u0E35\u0E48 \u{20BB7}z'

/** Time-out of an agent that gives its questions no ids, ms. */
const NAMELESS_MS = 60_000

/**
 * The program that a message names by directives (`[[say:Hello]] [[tool:read {"target":"a.md"}]] …`), or null when it names none. Text outside
 * of directives is not played; two closing brackets end one, so JSON within writes `] ]`. An unknown directive or arguments that do not parse become words of the answer, so that a slip is seen.
 *
 * Questions: `[[ask:ls || pwd]]` and `[[question:…]]` (without a tool) ask once or deny; `[[ask:{"command":"ls","choices":["once","session","deny"],"ms":5000}]]` asks
 * with choices of its own; `[[nameless:ls || pwd]]` as an agent without ids; `[[clarify:Which? | red | blue]]`, `[[sudo:why]]`, `[[secret:NAME why]]`.
 * A provider that fails, in its words and the class that they fall in: `[[fail:429 Slow down]]`. Words in mid-turn: `[[steers:tool]]`, `[[hear]]`. A later turn of its own: `[[later:300 Built <<say:All green.>>]]`.
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
    case 'message':
    case 'title':
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
    case 'nothing':
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
    case 'question': {
      const asks = asksOf(rest)
      return asks && { do: 'ask', asks, ...(name === 'question' ? { alone: true } : {}) }
    }
    case 'expire': {
      const [ms, command] = word(rest)
      return count(ms, (n) => ({ do: 'expire', command, ms: n }))
    }
    case 'nameless':
      return namelessOf(rest)
    case 'clarify':
      return clarifyOf(rest)
    case 'sudo':
    case 'secret':
      return secretOf(name, rest)
    case 'plan':
      return planOf(rest)
    case 'steers':
      return STEER_MODES.includes(rest as SteerMode) ? { do: 'steers', how: rest as SteerMode } : null
    case 'hear':
      return rest === '' ? { do: 'hear' } : count(rest, (n) => ({ do: 'hear', ms: n }))
    case 'relay': {
      const [how, ms] = word(rest)
      if (how === 'slow') return count(ms, (n) => ({ do: 'relay', relay: { how, ms: n } }))
      return how === 'fail' || how === 'gone' || how === 'throw' ? { do: 'relay', relay: { how } } : null
    }
    case 'later': {
      const [ms, more] = word(rest)
      const script = more.replaceAll('<<', '[[').replaceAll('>>', ']]')
      return count(ms, (n) => ({ do: 'later', ms: n, text: script.replace(DIRECTIVE, '').trim() || 'Something in the background is done', script }))
    }
    case 'error': {
      const [code, words] = word(rest)
      return (RUN_PROBLEMS as readonly string[]).includes(code) ? { do: 'error', code: code as RunProblemCode, words } : null
    }
    case 'fail': {
      const [first, more] = word(rest)
      const status = /^[1-5]\d\d$/.test(first) ? Number(first) : undefined
      const words = status === undefined ? rest : more
      return { do: 'error', code: problemOf(status, words), words, ...(status === undefined ? {} : { status }) }
    }
    case 'limit':
      return { do: 'limit', words: rest }
    case 'interrupt':
      return { do: 'interrupt', words: rest }
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
    case 'bound': {
      const [foreign, why] = word(rest)
      return foreign ? { do: 'bound', foreign, why: why === 'first' || why === 'resumed' || why === 'reseeded' ? why : 'rotated' } : null
    }
    case 'context': {
      const message = object(rest)
      return message ? { do: 'context', messages: [message] } : null
    }
    default:
      return null
  }
}

const STEER_MODES: SteerMode[] = ['any', 'text', 'tool', 'never', 'refuse', 'throw']
const CHOICE_KINDS: ChoiceKind[] = ['once', 'session', 'always', 'deny', 'deny_always']

function asksOf(rest: string): AskOrder[] | null {
  if (rest === '') return null
  if (!/^\s*[[{]/.test(rest)) return rest.split('||').map((command) => ({ command: command.trim(), choices: choicesOf('once', 'deny') }))
  const value = json(rest)
  const asks = (Array.isArray(value) ? value : [value]).map(askOf)
  return asks.length > 0 && asks.every((ask) => ask !== null) ? asks : null
}

function askOf(value: unknown): AskOrder | null {
  const given = value as Omit<Partial<AskOrder>, 'choices'> & { choices?: unknown }
  if (typeof given?.command !== 'string') return null
  const choices = given.choices === undefined ? choicesOf('once', 'deny') : choicesFrom(given.choices)
  return choices && { ...given, command: given.command, choices }
}

/** Kinds, or whole choices with ids and words of their own. */
function choicesFrom(given: unknown): Choice[] | null {
  if (!Array.isArray(given) || given.length === 0) return null
  const choices = given.map((item: unknown): Choice | null => {
    if (typeof item === 'string') return CHOICE_KINDS.includes(item as ChoiceKind) ? choicesOf(item as ChoiceKind)[0]! : null
    const choice = item as Partial<Choice> | null
    return typeof choice?.id === 'string' && CHOICE_KINDS.includes(choice.kind as ChoiceKind) ? (choice as Choice) : null
  })
  return choices.every((choice) => choice !== null) ? choices : null
}

function namelessOf(rest: string): Step | null {
  const given = object(rest) as { commands?: unknown; ms?: number | number[]; lag?: number } | null
  const commands = given ? given.commands : rest.split('||').map((command) => command.trim())
  if (rest.trim() === '' || !Array.isArray(commands) || !commands.every((command) => typeof command === 'string' && command !== '')) return null
  const each = (i: number): number => (Array.isArray(given?.ms) ? given.ms[i] : given?.ms) ?? NAMELESS_MS
  return { do: 'nameless', asks: (commands as string[]).map((command, i) => ({ command, ms: each(i) })), lag: given?.lag ?? 0 }
}

function clarifyOf(rest: string): Step | null {
  const given = object(rest) as { question?: unknown; choices?: unknown; free?: boolean; ms?: number; quiet?: boolean } | null
  if (!given) {
    const [question = '', ...choices] = rest.split('|').map((part) => part.trim())
    return question === '' ? null : { do: 'clarify', request: { question, choices, free: true } }
  }
  if (typeof given.question !== 'string') return null
  const choices = Array.isArray(given.choices) ? given.choices.map(String) : []
  return { do: 'clarify', request: { question: given.question, choices, free: given.free ?? true }, ...(given.ms === undefined ? {} : { ms: given.ms }), ...(given.quiet ? { quiet: true } : {}) }
}

function secretOf(kind: 'sudo' | 'secret', rest: string): Step | null {
  const given = object(rest) as { prompt?: unknown; env?: string; ms?: number; expect?: string } | null
  if (given && rest.trim() !== '') {
    if (typeof given.prompt !== 'string') return null
    const { prompt, env, ms, expect } = given
    return { do: 'secret', request: { kind, prompt, ...(env === undefined ? {} : { env }) }, ...(ms === undefined ? {} : { ms }), ...(expect === undefined ? {} : { expect }) }
  }
  const [env, words] = kind === 'secret' ? word(rest) : ['', rest.trim()]
  return { do: 'secret', request: { kind, prompt: words || 'The script needs it', ...(env === '' ? {} : { env }) } }
}

/** `Look | >Change | -Drop | +Ask`: pending unless marked: `+` done, `>` active, `-` cancelled. */
function planOf(rest: string): Step | null {
  const given = json(rest)
  if (Array.isArray(given)) return { do: 'plan', entries: given as PlanEntry[] }
  const entries = rest.split('|').flatMap((part): PlanEntry[] => {
    const [, mark = '', text = ''] = /^\s*([+>-]?)\s*([\s\S]*?)\s*$/.exec(part) ?? []
    return text === '' ? [] : [{ text, state: mark === '+' ? 'done' : mark === '>' ? 'active' : mark === '-' ? 'cancelled' : 'pending' }]
  })
  return { do: 'plan', entries }
}

function word(text: string): [string, string] {
  const [, first = '', rest = ''] = /^\s*(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  return [first, rest]
}

function count(text: string, make: (n: number) => Step): Step | null {
  const n = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(n) && n >= 0 ? make(n) : null
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Nothing at all is an empty object; what is no object is null. */
function object(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  const value = json(text)
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null
}
