import type { Endpoint } from '../../models/port'
import type { Quirks } from './dialect'

/** Providers known to demand their reasoning back with tool turns; others refuse unknown fields (R228). */
const WANTS_REASONING = /deepseek|moonshot|kimi|xiaomimimo|mimo/i

/** How providers say that a model is blind; not what they say of one picture that is too large. */
const TAKES_NO_PICTURES =
  /(?:not support|unsupported|only supported|endpoints found that support|unknown variant|not a)[^.]*(?:\bimage|\bvision\b|multi-?modal)|(?:\bimage|\bvision\b|multi-?modal)[^.]*(?:not support|unsupported|only supported|not enabled|not available)/i

/**
 * What each provider and model cannot take. A refusal that names a field teaches us once; the same request goes again without it, before anything
 * was shown. Nothing else is ever repeated. `pictures`: the request held some.
 */
export function makeQuirks(): { of(endpoint: Endpoint): Quirks; teach(endpoint: Endpoint, words: string, pictures: boolean): boolean } {
  const learned = new Map<string, Quirks>()
  const keyOf = (endpoint: Endpoint): string => `${endpoint.baseUrl} ${endpoint.model}`
  const of = (endpoint: Endpoint): Quirks => ({ echoReasoning: WANTS_REASONING.test(`${endpoint.baseUrl} ${endpoint.model}`), ...learned.get(keyOf(endpoint)) })
  return {
    of,
    teach: (endpoint, words, pictures) => {
      const now = of(endpoint)
      const lesson = lessonOf(words, now, pictures)
      if (!lesson) return false
      learned.set(keyOf(endpoint), { ...learned.get(keyOf(endpoint)), ...lesson })
      return true
    },
  }
}

function lessonOf(words: string, now: Quirks, pictures: boolean): Quirks | null {
  if (/stream_options|include_usage/i.test(words) && !now.noUsageOption) return { noUsageOption: true }
  if (pictures && TAKES_NO_PICTURES.test(words) && !now.noImages) return { noImages: true }
  if (/reasoning_content/i.test(words)) return { echoReasoning: !now.echoReasoning }
  if (/does not support (?:tools|function calling)|tool(?:s| use)? (?:is|are) not supported/i.test(words) && !now.noTools) return { noTools: true }
  if (/max_completion_tokens/i.test(words) && !now.completionTokens) return { completionTokens: true }
  const most = /max_tokens:? ?\d* ?(?:>|is too large|must be less than or equal to)[^\d]*(\d+)/i.exec(words)
  const limit = most ? Number(most[1]) : 0
  return limit > 0 && now.maxTokens !== limit ? { maxTokens: limit } : null
}
