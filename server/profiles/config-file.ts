import { parseDocument } from 'yaml'
import { expand } from './env-file'

export type Config = { state: 'absent' } | { state: 'unreadable'; words: string } | { state: 'read'; value: Record<string, unknown> }

/**
 * `config.yaml` as Hermes Agent reads it: YAML 1.1 (`off` is false), `${NAME}` in texts at any depth from the profile's own variables (spec/server.md
 * §3.1). Never written here. `words` say where it does not parse.
 */
export function parseConfig(text: string | null, env: Readonly<Record<string, string>>): Config {
  if (text === null) return { state: 'absent' }
  try {
    const document = parseDocument(text.replace(/^\uFEFF/, ''), { version: '1.1', prettyErrors: true })
    const broken = document.errors[0]
    if (broken) return { state: 'unreadable', words: broken.message.split('\n')[0]! }
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    if (value === null || value === undefined) return { state: 'read', value: {} }
    if (typeof value !== 'object' || Array.isArray(value)) return { state: 'unreadable', words: 'It is not a mapping of names to values.' }
    return { state: 'read', value: expanded(value, env) as Record<string, unknown> }
  } catch (error) {
    return { state: 'unreadable', words: (error as Error).message.split('\n')[0]! }
  }
}

function expanded(value: unknown, env: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return expand(value, env)
  if (Array.isArray(value)) return value.map((item) => expanded(item, env))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, expanded(inner, env)]))
}
