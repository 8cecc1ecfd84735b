import { randomBytes } from 'node:crypto'
import { networkWords, textOf } from '../../models/http'
import type { Caller } from '../../models/http'
import type { Timers } from '../port'
import { HermesFault } from './port'
import type { StoredSession } from './port'
import { hermesMessage, importAnswer, sessionAnswer } from './protocol/rest'
import type { HermesMessage } from './protocol/rest'

/** Measures of answers, ms and bytes: a transcript holds whole tool outputs and images. */
const LIMITS = {
  status: { within: 10_000, most: 512 * 1024 },
  session: { within: 30_000, most: 8 * 1024 * 1024 },
  messages: { within: 60_000, most: 128 * 1024 * 1024 },
  import: { within: 60_000, most: 1024 * 1024 },
} as const

/** Hermes takes no more of one session in one import (spec/hermes-home.md §3.9). */
export const IMPORT_LIMITS = { messages: 10_000, bytes: 5 * 1024 * 1024 } as const

/** What stored sessions say made them; ours say what the original interface's say. */
export const SOURCE = 'webui'

export interface RestParts {
  call: Caller
  timers: Timers
}

export interface Where { port: number; token: string }

/** The stored side of a running Hermes, over HTTP on loopback (spec/hermes-rpc.md §1.2). Redirects are errors; ids stand in addresses encoded. Everything rejects with `HermesFault`. */
export class HermesRest {
  constructor(private readonly parts: RestParts) {}

  /** Version and home, asked without the token: it may be another program that answers. */
  async status(port: number): Promise<{ version: string; home?: string }> {
    const { value } = await this.#ask({ port, token: null }, 'GET', '/api/status', LIMITS.status)
    if (!isObject(value) || typeof value.version !== 'string') throw garbled('/api/status')
    return { version: value.version, ...(typeof value.hermes_home === 'string' ? { home: value.hermes_home } : {}) }
  }

  /** All rows that can be read, but the first `from` of them, which are not sent where Hermes knows how (0.19), and the session that they are of: a compacted one goes on under another id. Null when there is none. */
  async messages(where: Where, id: string, from = 0): Promise<{ session: string; messages: HermesMessage[] } | null> {
    const { status, value } = await this.#ask(where, 'GET', `/api/sessions/${encodeURIComponent(id)}/messages${from > 0 ? `?offset=${from}` : ''}`, LIMITS.messages)
    if (status === 404) return null
    if (!isObject(value) || !Array.isArray(value.messages) || typeof value.session_id !== 'string') throw garbled('the messages of a session')
    if (isBeginning(id, value.session_id)) return null
    const rows = value.messages.flatMap((row) => {
      const read = hermesMessage.safeParse(row)
      return read.success ? [read.data] : []
    })
    return { session: value.session_id, messages: rows }
  }

  async stored(where: Where, id: string): Promise<StoredSession | null> {
    const { status, value } = await this.#ask(where, 'GET', `/api/sessions/${encodeURIComponent(id)}`, LIMITS.session)
    if (status === 404) return null
    const row = sessionAnswer.safeParse(value)
    if (!row.success) throw garbled('a session')
    return row.data.id === id ? storedOf(row.data) : null
  }

  /** Answers the new id. */
  async importSession(where: Where, session: { title?: string; cwd?: string; messages: { role: 'user' | 'assistant'; content: string }[] }): Promise<string> {
    const now = this.parts.timers.now()
    const id = newId(new Date(now))
    const messages = session.messages.map(({ role, content }, index) => ({ role, content, timestamp: now / 1000 + index / 1000 }))
    const stored = { id, source: SOURCE, started_at: now / 1000, ...(session.cwd === undefined ? {} : { cwd: session.cwd }), messages }
    const send = (title: string | undefined): Promise<Answered> => this.#ask(where, 'POST', '/api/sessions/import', LIMITS.import, { sessions: [title === undefined ? stored : { ...stored, title }] })
    // A title may be used once in a store (0.19 answers 500 then); a chat does not fail for that.
    const answer = await send(session.title).catch((error: unknown) => {
      if (session.title === undefined || !(error instanceof HermesFault) || error.code !== 'rpc') throw error
      return send(undefined)
    })
    if (importAnswer.safeParse(answer.value).data?.imported !== 1) throw garbled('an import')
    return id
  }

  async #ask(where: { port: number; token: string | null }, method: 'GET' | 'POST', path: string, limits: { within: number; most: number }, body?: unknown): Promise<Answered> {
    const late = new AbortController()
    const cancel = this.parts.timers.after(limits.within, () => late.abort())
    try {
      const answer = await this.parts.call({
        url: `http://127.0.0.1:${where.port}${path}`,
        method,
        headers: { ...(where.token === null ? {} : { 'X-Hermes-Session-Token': where.token }), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: late.signal,
      })
      if (answer.status >= 300 && answer.status < 400) {
        answer.drop()
        throw new HermesFault('garbled', 'Hermes sends us elsewhere; that is followed nowhere.')
      }
      const text = await textOf(answer, limits.most)
      const value = parsed(text)
      if (answer.status === 401 || answer.status === 403) throw new HermesFault('lost', 'Hermes does not know us any more.', answer.status)
      if (answer.status >= 400 && answer.status !== 404) throw new HermesFault('rpc', `Hermes could not do it (HTTP ${answer.status}): ${text.slice(0, 400)}`, answer.status)
      if (value === undefined) throw garbled(path)
      return { status: answer.status, value }
    } catch (error) {
      if (error instanceof HermesFault) throw error
      throw late.signal.aborted ? new HermesFault('slow', `Hermes has not answered for ${limits.within / 1000} seconds.`) : new HermesFault('lost', networkWords(error))
    } finally {
      cancel()
    }
  }
}

interface Answered { status: number; value: unknown }

/** In the form of Hermes' own ids: local time, and six hex digits. */
export function newId(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`
  return `${day}_${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}_${randomBytes(3).toString('hex')}`
}

/** Hermes takes the beginning of an id for the id. Its compacted sessions have other ids, and those do not begin with it. */
function isBeginning(asked: string, answered: string): boolean {
  return answered !== asked && answered.startsWith(asked)
}

function storedOf(row: ReturnType<typeof sessionAnswer.parse>): StoredSession {
  // A cost of 0 with the status `unknown` is unknown, not free (spec/hermes-home.md §9).
  const cost = row.cost_status === undefined || row.cost_status === 'unknown' ? undefined : row.actual_cost_usd ?? row.estimated_cost_usd
  return {
    id: row.id,
    ...given({ title: row.title, cwd: row.cwd, model: row.model }),
    ...given({ messages: row.message_count }),
    counters: given({ input: row.input_tokens, output: row.output_tokens, cached: row.cache_read_tokens, reasoning: row.reasoning_tokens, cost }),
  }
}

/** Only what is known; an empty text is not. */
function given<T extends string | number>(entries: Record<string, T | undefined>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter((entry): entry is [string, T] => entry[1] !== undefined && entry[1] !== ''))
}

function garbled(what: string): HermesFault {
  return new HermesFault('garbled', `Hermes answered ${what} in a form that is not known.`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
