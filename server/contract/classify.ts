import type { RunProblemCode } from './problems'

interface Rule { code: RunProblemCode; status?: readonly number[]; words: RegExp }

/** A status that is only told in words: `HTTP 429`, `status code: 429`, or nothing else before it. */
const told = (status: string): string => `(?:^\\s*|\\b(?:https?|status(?: code)?|code|error)[ :=(]{1,3})(?:${status})\\b`

/**
 * Classes of spec/settlement.md §8.2 in its order: the first that fits wins, by status or by words. What a chat is too long for stands where the original has its
 * exhausted compression. They speak of what providers and agents say in English; another language falls to `error`, with the words unchanged beside it.
 */
const RULES: readonly Rule[] = [
  { code: 'compression_snapshot_stale', words: /compression[_ ]?snapshot[_ ]?stale/i },
  { code: 'cancelled', words: /\bcancell?ed by (?:the )?user\b|\buser[ _-]cancell?ed\b|^\W*(?:(?:the )?(?:task|run|turn|request|operation) (?:was |has been )?)?cancell?ed\W*$/i },
  { code: 'interrupted', words: /\bAbortError\b|\b(?:response|request|operation|generation|task|run|turn|agent)\b.{0,20}\b(?:was |has been )?(?:aborted|interrupted)\b|^\W*(?:aborted|interrupted)\b/i },
  { code: 'credential_pool_empty', words: /\bcredentials?(?:\(s\))?.{0,40}\bexhausted\b|\bcredential[ _]pool[ _](?:is )?(?:empty|exhausted)\b|\bno (?:usable|remaining) credentials?\b/i },
  {
    code: 'quota_exhausted', status: [402],
    words: new RegExp(`${told('402')}|insufficient[_ ](?:quota|credits?|balance|funds)|quota[_ ](?:was |is |has been )?(?:exceeded|exhausted|reached)|exceeded (?:your|the) (?:current )?quota|out of (?:extra )?(?:credits?|usage)|credit balance|credits? (?:exhausted|depleted)|requires more credits|(?:usage|plan|spend(?:ing)?|billing)[_ ](?:hard )?limit(?:[_ ](?:has been |was |is )?(?:reached|exceeded)|\\b)|reached your .{0,30}(?:usage|plan) limit|billing`, 'i'),
  },
  { code: 'rate_limit', status: [429, 529], words: new RegExp(`${told('429|529')}|rate[ _-]?limit|too many requests|overloaded`, 'i') },
  {
    code: 'auth_mismatch', status: [401, 403],
    words: new RegExp(`${told('401|403')}|invalid.{0,20}(?:api)?[ _-]?key|incorrect api key|unauthori[sz]ed|authentication|no api key|permission[_ ]denied|\\bforbidden\\b`, 'i'),
  },
  {
    code: 'model_not_found', status: [404],
    words: new RegExp(`${told('404')}|model[_ ]not[_ ]found|model.{0,120}(?:not found|does not exist|not exist|\\bunknown\\b|unavailable|not supported|no longer)|(?:unknown|invalid|no such|unsupported) model|not a valid model`, 'i'),
  },
  { code: 'compression_exhausted', words: /compression.{0,40}(?:exhausted|attempts)|cannot (?:be )?compress(?:ed)? (?:any )?further|nothing left to compress/i },
  {
    code: 'context_full', status: [413],
    words: /context[_ ]length|context window|maximum context|context size|prompt is too long|too many (?:input )?tokens|exceeds? the (?:model'?s? )?(?:available )?context|input length .{0,40}exceed/i,
  },
  { code: 'tool_limit_reached', words: /max[_ ](?:tool[_ ])?(?:iterations|turns|steps)|(?:iteration|tool[ -]?call|step) limit|maximum (?:number of )?(?:tool[ -]?calls|iterations|steps|turns)/i },
]

/** Why a run failed, from the status and the words of whoever refused; both may be missing. Nothing said at all is `no_response`, nothing known is `error`. */
export function problemOf(status: number | undefined, words: string): RunProblemCode {
  for (const rule of RULES) if ((status !== undefined && rule.status?.includes(status)) || rule.words.test(words)) return rule.code
  return status === undefined && words.trim() === '' ? 'no_response' : 'error'
}
