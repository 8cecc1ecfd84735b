import type { RunProblem } from '../../contract/problems'
import type { Usage } from '../../contract/session'
import type { Endpoint } from '../../models/port'
import type { TurnEnd } from '../port'
import type { WholeCall } from './calls'
import type { ToolOffer } from './dialect'
import { type AssistantMessage, type Message, wellFormed } from './messages'
import type { Provider } from './provider'
import type { Reply } from './reply'
import { type CallIo, NOT_RUN, runCall } from './step'
import type { Tool, ToolScope } from './tools/tool'
import { addUsage } from './usage'
import type { Words } from './words'

/**
 * Steps of one turn, a call of the model each. At the limit the model is asked once for closing words: with them the turn ends as completed, with the reason `limit`,
 * without as failed (spec/settlement.md, cases 52 and 53).
 */
export const MOST_STEPS = 50

export interface LoopInput {
  provider: Provider
  endpoint: Endpoint
  system: string
  tools: readonly Tool[]
  scope: ToolScope
  /** Begins with what came before and ends with the person's message. */
  history: Message[]
  io: Omit<CallIo, 'opened'>
  /** Keeps messages with the turn. */
  keep(messages: Message[]): Promise<void>
  /** Words that the person sends meanwhile. */
  words: Words
  /** Ids of calls are unique in their turn, whatever the provider does. */
  callId(given: string, step: number): string
  steps?: number
}

/**
 * Asks the model, runs the tools it calls, tells it what they answered, and so on until it calls none. Every call that is kept has a result that is kept,
 * also after a stop. Never rejects for what model or tools did.
 */
export async function runLoop(input: LoopInput): Promise<TurnEnd> {
  const { provider, endpoint, io, keep } = input
  const history = [...input.history]
  const offers: ToolOffer[] = input.tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  let usage: Usage = {}
  let unreadable = 0
  let skipped = 0
  let toldBlind = false
  const ended = (end: Omit<TurnEnd, 'usage'>): TurnEnd => ({ ...end, ...(Object.keys(usage).length > 0 && { usage }) })

  const most = input.steps ?? MOST_STEPS
  const seen = (): Promise<void> => input.words.seen(io.emit, keep)

  for (let step = 1; step <= most + 1; step++) {
    if (io.signal.aborted) return ended({ outcome: 'cancelled' })
    if (step > 1) await io.emit({ type: 'segment' })
    const last = step > most
    const added = input.words.take()
    const messages = wellFormed([...history, ...added, ...(last ? [{ role: 'user' as const, text: closing(most) }] : [])])
    const { reply, end, blind } = await provider.ask(
      endpoint, { system: input.system, messages, tools: offers },
      async (told) => {
        // An empty delta shows nothing and is a sign of life to the watchdog of `runs/`.
        await io.emit(told.kind === 'reasoning' ? { type: 'reasoning', delta: told.delta } : { type: 'text', delta: told.kind === 'text' ? told.delta : '' })
        if (told.kind !== 'alive') await seen()
      },
      io.signal,
    )
    history.push(...added)
    if (blind && !toldBlind) await io.emit({ type: 'notice', code: 'pictures_not_taken', words: 'This model takes no pictures; it was told that they were given.' })
    toldBlind ||= blind === true
    if (reply.usage) {
      usage = addUsage(usage, reply.usage, endpoint.contextSize)
      await io.emit({ type: 'usage', usage })
    }
    if (reply.skipped > 0 && skipped === 0) await io.emit({ type: 'notice', code: 'provider_chunks_skipped', params: { n: reply.skipped }, words: `${reply.skipped} pieces of the answer could not be read and were left out.` })
    skipped += reply.skipped
    if (end.state !== 'whole' || reply.calls.length === 0 || last) {
      if (end.state === 'whole') await seen()
      if (reply.text.trim() !== '') await keep([message(reply, [])])
      if (end.state === 'stopped') return ended({ outcome: 'cancelled' })
      if (end.state === 'failed') return ended({ outcome: 'failed', problem: end.problem })
      return ended(last ? atLimit(reply, most) : await lastStep(reply, step, io))
    }
    const calls = reply.calls.map((call) => ({ ...call, id: input.callId(call.id, step) }))
    unreadable = calls.every((call) => call.broken) ? unreadable + 1 : 0
    await runCalls(input, history, message(reply, calls), calls, seen)
    if (unreadable > 1) return ended({ outcome: 'failed', problem: { code: 'provider_garbled', words: 'The model called tools twice in a way that cannot be read; nothing was run.' } })
  }
  return ended({ outcome: 'cancelled' })
}

/** What the model is told at the limit; it is kept nowhere. */
function closing(steps: number): string {
  return `This turn has reached its limit of ${steps} steps, and no further tool call will be run. Say now, in words, what you found and did, and what is left.`
}

function atLimit(reply: Reply, steps: number): Omit<TurnEnd, 'usage'> {
  if (reply.text.trim() !== '') return { outcome: 'completed', reason: 'limit' }
  return { outcome: 'failed', problem: { code: 'tool_limit_reached', words: `The turn reached its limit of ${steps} steps without an answer.` } }
}

async function runCalls(input: LoopInput, history: Message[], said: AssistantMessage, calls: WholeCall[], seen: () => Promise<void>): Promise<void> {
  history.push(said)
  let opened = false
  for (const call of calls) {
    const result = input.io.signal.aborted && opened
      ? { role: 'tool' as const, call: call.id, name: call.name, result: NOT_RUN, failed: true as const }
      : await runCall(call, input.tools, input.scope, {
          ...input.io,
          // The message is kept when the first row that it caused stands, and before anything of it is done.
          opened: async () => {
            if (opened) return
            opened = true
            await seen()
            await input.keep([said])
          },
        })
    history.push(result)
    await input.keep([result])
  }
}

function message(reply: Reply, calls: WholeCall[]): AssistantMessage {
  return {
    role: 'assistant', text: reply.text, ...(reply.reasoning !== '' && { reasoning: reply.reasoning }), ...(reply.signature && { signature: reply.signature }),
    // Providers refuse arguments that are no JSON, also in what they themselves said before.
    ...(calls.length > 0 && { calls: calls.map((call) => ({ id: call.id, name: call.name || 'unknown', args: call.broken ? '{}' : call.args })) }),
  }
}

async function lastStep(reply: Reply, step: number, io: LoopInput['io']): Promise<Omit<TurnEnd, 'usage'>> {
  const notice = (code: string, words: string): Promise<void> => io.emit({ type: 'notice', code, words })
  if (reply.text.trim() === '') return emptyEnd(reply, step)
  if (reply.finish === 'length') {
    await notice('answer_cut_length', 'The answer was cut: it reached the length that the model or its server allows.')
    return { outcome: 'completed', reason: 'length' }
  }
  if (reply.finish === 'filter') {
    await notice('answer_cut_filter', 'The provider ended the answer by its content filter.')
    return { outcome: 'completed', reason: 'filter' }
  }
  if (!reply.finish && !reply.done) await notice('answer_end_unconfirmed', 'The connection ended without the sign that the answer was complete; it may be cut.')
  return { outcome: 'completed' }
}

function emptyEnd(reply: Reply, step: number): Omit<TurnEnd, 'usage'> {
  const failed = (code: RunProblem['code'], words: string): Omit<TurnEnd, 'usage'> => ({ outcome: 'failed', problem: { code, words } })
  if (reply.finish === 'filter') return failed('provider_error', 'The provider ended the answer by its content filter.')
  if (reply.finish === 'length') return failed('no_response', 'The model reached its length limit before it gave an answer.')
  if (reply.reasoning.trim() !== '') return failed('no_response', 'The model thought, but gave no answer.')
  // After tools, some models have nothing to add.
  return step > 1 ? { outcome: 'completed', reason: 'empty' } : failed('no_response', 'The model gave an empty answer.')
}
