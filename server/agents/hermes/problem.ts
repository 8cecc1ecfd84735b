import { problemOf } from '../../contract/classify'
import type { RunProblem, RunProblemCode } from '../../contract/problems'

/** Longest words that a run keeps of its problem. */
const WORDS_MOST = 1200

/** What Hermes says of a failed turn, where the classes of every provider do not name it: the first that fits. */
const RULES: readonly [RegExp, RunProblemCode][] = [
  [/no (?:llm |inference )?provider configured|provider is not configured|hermes (?:setup|model)\b/i, 'no_model'],
  [/agent init(?:ialization)? failed/i, 'agent_unavailable'],
  [/context window was too small/i, 'context_full'],
  [/connection (?:error|refused|reset|aborted)|connect(?:ion)? (?:timed out|timeout)|timed out|unreachable|name or service not known|ECONN|getaddrinfo|peer closed|incomplete (?:chunked )?read/i, 'provider_unreachable'],
  [/expecting (?:property name|value|',')|json|malformed|unterminated|codec can't|invalid start byte|surrogates not allowed/i, 'provider_garbled'],
]

/** Classes that Hermes' words cannot mean: the run itself knows who cancelled it. */
const NOT_SAID: ReadonlySet<RunProblemCode> = new Set(['error', 'cancelled', 'interrupted', 'no_response', 'tool_limit_reached', 'compression_snapshot_stale'])

/** Why a turn of Hermes failed, by its own words (spec/hermes-rpc.md §5); `otherwise`: what it is where they say nothing that is known. */
export function hermesProblem(words: string, otherwise: RunProblemCode): RunProblem {
  const status = statusIn(words)
  const known = problemOf(status, words)
  const code = NOT_SAID.has(known) ? (RULES.find(([rule]) => rule.test(words))?.[1] ?? (status !== undefined ? 'provider_error' : otherwise)) : known
  const kept = words.trim().slice(0, WORDS_MOST)
  return { code, ...(kept === '' ? {} : { words: kept }), ...(status === undefined ? {} : { status }) }
}

function statusIn(words: string): number | undefined {
  const found = /\bHTTP (\d{3})\b/.exec(words)?.[1]
  return found === undefined ? undefined : Number(found)
}

const NO_REPLY = '⚠️ No reply:'

/** An end as `complete` that is none (recordings 10, 18): words of Hermes itself in the place of an answer. Null: it is an answer. */
export function noReply(text: string): 'limit' | 'empty' | null {
  const at = text.lastIndexOf(NO_REPLY)
  if (at < 0) return null
  if (/maximum tool-iteration limit|iteration\/cost budget/.test(text.slice(at))) return 'limit'
  return at === 0 ? 'empty' : null
}
