/** Longest text of a provider that is kept (spec/settlement.md §8.2), in UTF-16 units. */
export const WORDS_LIMIT = 1200

/** Shapes of keys that providers like to repeat in their errors. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|xai|gsk|hf|nvapi|key|tok)[-_][A-Za-z0-9_*.-]{8,}/g,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\bghp_[A-Za-z0-9]{20,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi,
]

/**
 * A provider's own words, fit to be shown and stored: HTML stripped, keys removed (those given, and what looks like one), one line of white
 * space at most between paragraphs, at most `WORDS_LIMIT` long.
 */
export function cleanWords(raw: string, secrets: readonly (string | null | undefined)[] = []): string {
  let text = looksLikeHtml(raw) ? withoutHtml(raw) : raw
  text = withoutKeys(text, secrets)
  text = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ').replace(/[ \t]+/g, ' ').replace(/\n\s*\n\s*/g, '\n\n').trim()
  return paired(text.length > WORDS_LIMIT ? `${text.slice(0, WORDS_LIMIT - 1)}…` : text)
}

/** Text without keys: those given, and what looks like one. */
export function withoutKeys(raw: string, secrets: readonly (string | null | undefined)[] = []): string {
  let text = raw
  for (const secret of secrets) if (secret && secret.length >= 4) text = text.split(secret).join('[key]')
  for (const shape of KEY_SHAPES) text = text.replace(shape, '[key]')
  return text
}

/** Text without lone surrogates: they are no characters, and strict servers refuse them. */
export function paired(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, '\uFFFD')
}

export function looksLikeHtml(text: string): boolean {
  return /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype|html|head|body|title|h1|p|div|center)\b/i.test(text)
}

function withoutHtml(html: string): string {
  return html
    .slice(0, 100_000)
    .replace(/<!--[\s\S]*?(?:-->|$)/g, ' ')
    .replace(/<(script|style|svg)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<[^>]*(?:>|$)/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' })[name] ?? ' ')
    .replace(/\s+/g, ' ')
}

/**
 * The sentence inside the many error bodies of model servers: `{error: {message}}`, `{error: "…"}`, `{message}`, `{detail}` (text or a list of
 * `{msg}`), `[{error}]`. Null when there is none.
 */
export function messageOf(body: unknown): string | null {
  if (typeof body === 'string') return body.trim() || null
  if (Array.isArray(body)) return body.map((item) => (isObject(item) && typeof item.msg === 'string' ? item.msg : messageOf(item))).filter(Boolean).join('; ') || null
  if (!isObject(body)) return null
  for (const name of ['error', 'message', 'detail', 'msg', 'error_description'] as const) {
    const found = messageOf(body[name])
    if (found) return name === 'error' ? withSource(found, body.error) : found
  }
  const type = body.type ?? body.code
  return typeof type === 'string' ? type : null
}

/** Routers put the words of the provider behind them into `metadata.raw`. */
function withSource(message: string, error: unknown): string {
  const raw = isObject(error) && isObject(error.metadata) ? error.metadata.raw : undefined
  if (typeof raw !== 'string' || raw === '') return message
  let inner: string | null
  try {
    inner = messageOf(JSON.parse(raw))
  } catch {
    inner = raw
  }
  return inner && !message.includes(inner) ? `${message}: ${inner}` : message
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
