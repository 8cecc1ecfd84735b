/** Arguments whose content is what the call is about; they are kept long, all others short (settlement.md §0, §2.4). */
const CONTENT = new Set(['command', 'code', 'patch', 'path', 'file_path', 'old_string', 'new_string', 'content', 'query', 'pattern', 'url', 'diff'])
const LONG = 4000
const SHORT = 120

/**
 * A tool's arguments as the original shows them: the first `keys` of them, content up to 4000 characters, others up to 120. What is no object becomes `{}`.
 * Values that are no text are kept where they are short as JSON, else as the beginning of that JSON.
 */
export function boundedArguments(args: unknown, keys: number): Record<string, unknown> {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return {}
  const bounded: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(args).slice(0, keys)) {
    const limit = CONTENT.has(key) ? LONG : SHORT
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    bounded[key] = text.length <= limit ? value : begin(text, limit)
  }
  return bounded
}

/** The first characters of a text, at most `limit` UTF-16 units, never half a character; longer ones end with an ellipsis. */
export function begin(text: string, limit: number): string {
  if (text.length <= limit) return text
  return `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
