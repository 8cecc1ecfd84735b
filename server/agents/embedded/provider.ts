import type { RunProblem } from '../../contract/problems'
import type { Answer, Caller } from '../../models/http'
import { textOf } from '../../models/http'
import type { Endpoint } from '../../models/port'
import { cleanWords, looksLikeHtml, messageOf, paired } from '../../models/words'
import type { Timers } from '../port'
import { anthropic } from './anthropic'
import type { Ask, Dialect, Part, Quirks } from './dialect'
import { networkProblem, problemOf, withHint } from './failure'
import { openai } from './openai'
import { makeQuirks } from './quirks'
import { makeReply, type Reply } from './reply'
import { makeFrames } from './sse'
import type { Told } from './think'

/**
 * One call of a model, over undici and two small dialects of our own.
 *
 * Not the AI SDK's provider packages, which DESIGN §9 names. The reasons, tried at `doStream()`, are in provider.md: a tool-call fragment without a name ends the
 * whole stream, named progress events become answer text (R231), a JSON body is lost (R229), a missing sign of the end and a cut cannot be told apart
 * (R224), repeats are shown twice (R227, R229), and reasoning is always given back (R228).
 */
export interface Provider {
  /**
   * Streams one message of the model. `tell` is given text and thoughts as they come, and is waited for when it answers a promise (backpressure). Never
   * rejects: what went wrong is in the end.
   */
  ask(endpoint: Endpoint, ask: Ask, tell: Tell, signal: AbortSignal): Promise<Heard>
}

/** `alive`: the model is at work on something that is not shown yet, such as the arguments of a call; told every few seconds. */
export type Tell = (told: Told | { kind: 'alive' }) => void | Promise<void>
/** ms between two such signs. */
const ALIVE_EVERY = 5_000

/** `blind`: the model takes no pictures, and was told of them in words. */
export interface Heard { reply: Reply; blind?: boolean; end: { state: 'whole' } | { state: 'stopped' } | { state: 'failed'; problem: RunProblem } }

export interface ProviderDeps {
  call: Caller
  timers: Timers
  /** How long a model may be silent before the call is given up, ms (spec/agents.md §4). */
  silence: number
}

const DIALECTS: Record<Endpoint['kind'], Dialect> = { openai, anthropic }

export function makeProvider({ call, timers, silence }: ProviderDeps): Provider {
  const learned = makeQuirks()
  return {
    ask: async (endpoint, ask, tell, signal) => {
      const dialect = DIALECTS[endpoint.kind]
      const pictures = ask.messages.some((m) => m.role === 'user' && m.images !== undefined)
      // At most one repeat for each thing that the provider can teach us, before anything was shown.
      for (let attempt = 0; ; attempt++) {
        const quirks = learned.of(endpoint)
        const heard = await once(dialect, endpoint, ask, quirks, tell, signal)
        const refused = heard.end.state === 'failed' && heard.refusedWith
        if (!refused || attempt >= 3 || !learned.teach(endpoint, refused, pictures)) return { ...heard, blind: quirks.noImages === true && pictures }
      }
    },
  }

  async function once(dialect: Dialect, endpoint: Endpoint, ask: Ask, quirks: Quirks, tell: Tell, signal: AbortSignal): Promise<Heard & { refusedWith?: string }> {
    const draft = makeReply()
    const secrets = [endpoint.key]
    const clock = watch(timers, silence, signal)
    const whole = (): Reply => draft.reply((n) => `call_${n}`)
    const failed = (problem: RunProblem, refusedWith?: string): Heard & { refusedWith?: string } => ({ reply: whole(), end: { state: 'failed', problem }, refusedWith })
    const say = async (told: Told[]): Promise<void> => {
      for (const one of told) await tell(one)
    }
    const broken = (error: unknown): Heard => {
      if (signal.aborted) return { reply: whole(), end: { state: 'stopped' } }
      if (clock.silent()) return failed(silent(silence))
      return failed(networkProblem(error, secrets))
    }

    let answer: Answer
    try {
      answer = await call({
        url: dialect.url(endpoint), method: 'POST', signal: clock.signal,
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...dialect.headers(endpoint) },
        body: JSON.stringify(dialect.body(endpoint, ask, quirks), (_, value: unknown) => (typeof value === 'string' ? paired(value) : value)),
      })
    } catch (error) {
      clock.end()
      return broken(error)
    }
    try {
      if (answer.status >= 300) {
        const words = wordsOf(await textOf(answer, 65_536), answer)
        return failed(problemOf({ status: answer.status, words }, secrets), words)
      }
      let toldAt = timers.monotonic()
      const shown = await read(answer, dialect, async (part) => {
        clock.heard()
        const told = draft.add(part)
        if (told.length === 0 && timers.monotonic() - toldAt < ALIVE_EVERY) return
        toldAt = timers.monotonic()
        if (told.length > 0) await say(told)
        else await tell({ kind: 'alive' })
      })
      await say(draft.end())
      const reply = whole()
      if (reply.failure) return failed(problemOf(reply.failure, secrets))
      if (signal.aborted) return { reply, end: { state: 'stopped' } }
      if (shown === 'page') return failed({ code: 'provider_garbled', words: 'A web page came instead of an answer of a model.', status: answer.status })
      if (reply.heard === 0 && reply.skipped > 0) return failed({ code: 'provider_garbled', words: 'What the model server sent is not in a form that can be read.' })
      // Arguments that break off with the stream (R224): the message was cut, whatever a clean end of the connection says.
      if (!reply.done && !reply.finish && (shown === 'torn' || dialect.alwaysEnds || reply.calls.some((c) => c.broken) || reply.heard === 0 || (reply.text === '' && reply.calls.length === 0))) return failed(cut(reply))
      return { reply, end: { state: 'whole' } }
    } catch (error) {
      await say(draft.end())
      const reply = whole()
      // A connection that breaks after the end was told has lost nothing.
      if (reply.done && !reply.failure) return { reply, end: { state: 'whole' } }
      return broken(error)
    } finally {
      clock.end()
      answer.drop()
    }
  }
}

/** Reads a stream of events, or a JSON body that came in its place, or notices that it is a web page. `torn`: the connection ended within an event. */
async function read(answer: Answer, dialect: Dialect, part: (part: Part) => Promise<void>): Promise<'stream' | 'torn' | 'body' | 'page'> {
  const frames = makeFrames()
  let kind: 'unknown' | 'stream' | 'body' = 'unknown'
  let start: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body) {
    if (kind === 'unknown') {
      const first = firstMark(start, piece)
      if (first === '{' || first === '[' || first === '<') kind = 'body'
      else if (first !== '') kind = 'stream'
    }
    if (kind !== 'stream') {
      start.push(piece)
      size += piece.length
      if (size > 32 * 1024 * 1024) break
      continue
    }
    for (const held of start) for (const frame of frames.push(held)) for (const p of dialect.read(frame)) await part(p)
    start = []
    for (const frame of frames.push(piece)) for (const p of dialect.read(frame)) await part(p)
  }
  if (kind === 'stream') {
    let torn = false
    for (const frame of frames.end())
      for (const p of dialect.read(frame)) {
        if (p.type === 'skipped') torn = true
        else await part(p)
      }
    return torn ? 'torn' : 'stream'
  }
  const text = new TextDecoder().decode(Buffer.concat(start)).trim()
  if (text === '') return 'stream'
  if (looksLikeHtml(text) || text.startsWith('<')) return 'page'
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    await part({ type: 'skipped' })
    return 'body'
  }
  for (const p of dialect.readBody(body)) await part(p)
  return 'body'
}

function firstMark(before: Uint8Array[], piece: Uint8Array): string {
  for (const bytes of [...before, piece]) for (const byte of bytes) if (byte > 32 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) return String.fromCharCode(byte)
  return ''
}

function wordsOf(text: string, answer: Answer): string {
  if (answer.status < 400) return `The address redirects${answer.location ? ` to ${answer.location}` : ''}; keys are not sent on.`
  try {
    return messageOf(JSON.parse(text)) ?? cleanWords(text)
  } catch {
    return cleanWords(text) || `HTTP status ${answer.status}`
  }
}

function cut(reply: Reply): RunProblem {
  const empty = reply.text === '' && reply.reasoning === '' && reply.calls.length === 0
  if (empty) return { code: 'no_response', words: 'The model server ended the connection without an answer.' }
  return { code: 'provider_error', words: 'The connection to the model server ended in the middle of the answer.' }
}

function silent(ms: number): RunProblem {
  return withHint({ code: 'agent_silent', words: `The model server has sent nothing for ${Math.round(ms / 1000)} s.` })
}

/** Ends the call when the person stops or the model is silent for too long; comments and other signs of mere life do not count. */
function watch(timers: Timers, ms: number, outer: AbortSignal): { signal: AbortSignal; heard(): void; silent(): boolean; end(): void } {
  const inner = new AbortController()
  let isSilent = false
  let last = timers.monotonic()
  let cancel = (): void => undefined
  const stop = (): void => inner.abort()
  const arm = (wait: number): void => {
    cancel = timers.after(wait, () => {
      const left = last + ms - timers.monotonic()
      if (left > 0) return arm(left)
      isSilent = true
      inner.abort()
    })
  }
  arm(ms)
  if (outer.aborted) stop()
  outer.addEventListener('abort', stop)
  return {
    signal: inner.signal,
    heard: () => void (last = timers.monotonic()),
    silent: () => isSilent,
    end: () => {
      cancel()
      outer.removeEventListener('abort', stop)
    },
  }
}
