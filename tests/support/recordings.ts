import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../agent/recordings/hermes/', import.meta.url))

/** One line of a recording: what the client sent (`>`), what the program sent (`<`), by which of several clients, or a remark. */
export interface Line { from: 'us' | 'program' | 'remark'; client: string; frame: unknown }

/** Recordings of the real program (Hermes Agent 0.19.0 with a fake model), by their number. */
export function recording(number: string): Line[] {
  const file = readdirSync(FOLDER).find((name) => name.startsWith(`${number}-`))
  if (!file) throw new Error(`There is no recording ${number}`)
  return readFileSync(FOLDER + file, 'utf8').split('\n').flatMap((line): Line[] => {
    const [, mark, client = '', body] = /^([<>!]) (?:([A-Z]) )?(.*)$/s.exec(line) ?? []
    if (mark === undefined || body === undefined) return []
    return [{ from: mark === '>' ? 'us' : mark === '<' ? 'program' : 'remark', client, frame: parsed(body) }]
  })
}

export function recordings(): string[] {
  return readdirSync(FOLDER).filter((name) => name.endsWith('.ndjson')).map((name) => name.slice(0, 2)).toSorted()
}

/** Requests of recording 17 are broken on purpose. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
