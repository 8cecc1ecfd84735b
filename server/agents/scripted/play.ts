import type { PlanEntry } from '../../contract/rows'
import type { Delivery, Sink, TurnEnd } from '../port'
import { Asked } from './asked'
import { Asking, isYes } from './asking'
import { Inbox } from './inbox'
import type { Memory } from './memory'
import { Nameless } from './nameless'
import { Stopped } from './pace'
import type { Pace } from './pace'
import { choicesOf } from './step'
import type { AskOrder, ScriptedTool, Step } from './step'
import { deltaText, sizeText } from './texts'

/** Words a minute of the scripted agent, as a pause after each piece of text, ms. */
const PIECE_MS = 18

/** What an agent does with a clarifying question that nobody answered (spec/settlement.md §7.6). */
export const USE_YOUR_JUDGEMENT = 'use your judgement'

export interface PlayerParts {
  sink: Sink
  pace: Pace
  cwd: string
  session: string
  memory: Memory
  /** Begins a turn of its own, later. */
  later: (ms: number, text: string, script: string) => void
}

/**
 * Performs one program for one turn. It keeps what it has opened, so that a stop in the middle leaves no tool behind that it could have closed;
 * what it leaves open after all is the run's to close.
 */
export class Player {
  readonly asked: Asked
  readonly asking: Asking
  readonly inbox: Inbox
  readonly #nameless: Nameless
  #calls = 0
  #open = new Set<string>()

  constructor(private readonly p: PlayerParts) {
    this.asked = new Asked(p.pace)
    this.asking = new Asking({ ...p, asked: this.asked })
    this.inbox = new Inbox(p.sink, p.pace)
    this.#nameless = new Nameless({
      sink: p.sink, pace: p.pace, asked: this.asked, cwd: p.cwd, open: (command) => this.#shell(command),
      close: (call, ran, result) => this.close(call, { state: ran ? 'done' : 'denied', result, ...(ran ? { output: `${result}\n`, exit: 0 } : {}) }),
    })
  }

  /** Plays steps in order, up to the one that ends the turn. */
  play(steps: Iterable<Step>): Promise<TurnEnd> {
    return this.perform(async () => {
      for (const step of steps) {
        await this.#hear('text')
        const end = await this.#perform(step)
        if (end) return end
      }
      await this.#hear('text')
      return null
    })
  }

  /** Runs a program to the turn's end; stop ends it as cancelled. */
  async perform(program: () => Promise<TurnEnd | null | void>): Promise<TurnEnd> {
    try {
      return (await program()) ?? { outcome: 'completed' }
    } catch (error) {
      if (!(error instanceof Stopped)) throw error
      for (const call of this.#open) await this.p.sink({ type: 'tool.closed', call, state: 'cancelled' })
      return { outcome: 'cancelled' }
    }
  }

  /** A person's answer; `question_gone` when nobody waits for it any more. */
  async decide(question: string, choice: string): Promise<Delivery> {
    return (await this.#nameless.decide(question, choice)) ?? this.asked.give(question, { kind: 'choice', text: choice })
  }

  /** The list of what it is going to do, with what is done of it. */
  async plan(entries: PlanEntry[]): Promise<void> {
    await this.p.sink({ type: 'plan', entries })
  }

  /** Opens a tool and answers its call id. */
  async open(name: string, tool: ScriptedTool): Promise<string> {
    const call = tool.call ?? `call_${++this.#calls}`
    this.#open.add(call)
    const { parent, title, target, args } = tool
    await this.p.sink({ type: 'tool.started', call, name, verb: tool.verb ?? 'other', ...defined({ parent, title, target, args }) })
    return call
  }

  async close(call: string, tool: ScriptedTool): Promise<void> {
    this.#open.delete(call)
    const { output, result, diff, exit } = tool
    await this.p.sink({ type: 'tool.closed', call, state: tool.state ?? 'done', ...defined({ output, result, diff, exit }) })
    await this.#hear('tool')
  }

  /** Streams text in pieces of about a word. */
  async say(type: 'text' | 'reasoning', text: string): Promise<void> {
    for (const piece of text.match(/\s*\S+\s*|\s+/g) ?? []) {
      await this.p.sink({ type, delta: piece })
      await this.p.pace.wait(PIECE_MS)
      if (type === 'text') await this.#hear('text')
    }
  }

  async #perform(step: Step): Promise<TurnEnd | null> {
    const { pace, sink } = this.p
    if (pace.stopped) throw new Stopped()
    switch (step.do) {
      case 'say':
        await this.say('text', step.text)
        return null
      case 'reason':
        await this.say('reasoning', step.text)
        return null
      case 'raw':
        await sink({ type: 'text', delta: step.delta })
        return null
      case 'replace':
        await sink({ type: 'text.replace', from: step.from, text: step.text })
        return null
      case 'segment':
        await sink({ type: 'segment' })
        return null
      case 'message':
        await sink({ type: 'message', text: step.text })
        return null
      case 'deltas':
        return this.#deltas(step.count)
      case 'size':
        return this.#size(step.units)
      case 'tool': {
        const call = await this.open(step.name, step.tool)
        if (step.tool.open) return null
        await pace.wait(step.tool.ms ?? 0)
        await this.close(call, step.tool)
        return null
      }
      case 'end':
        await pace.wait(step.tool.ms ?? 0)
        await this.close(step.call, step.tool)
        return null
      case 'ask':
        await Promise.all(step.asks.map((order) => this.#askFor(order, step.alone ?? false)))
        return null
      case 'expire':
        return this.#takeBack(step.command, step.ms)
      case 'nameless':
        await this.#nameless.ask(step.asks, step.lag)
        return null
      case 'clarify':
        await this.say('text', `(answer: ${(await this.asking.clarify(step.request, step)) ?? USE_YOUR_JUDGEMENT}) `)
        return null
      case 'secret':
        await this.say('text', await this.asking.secret(step.request, step.ms, step.expect))
        return null
      case 'plan':
        await this.plan(step.entries)
        return null
      case 'steers':
        this.inbox.mode = step.how
        return null
      case 'hear':
        await this.inbox.arrival(step.ms)
        return this.#hear('wait')
      case 'relay':
        this.asked.relay = step.relay
        return null
      case 'later':
        this.p.later(step.ms, step.text, step.script)
        return null
      case 'delay':
        await pace.wait(step.ms)
        return null
      case 'silence':
        await pace.until(() => undefined)
        return null
      case 'deaf':
        return new Promise(() => undefined)
      case 'nothing':
        return { outcome: 'completed' }
      case 'limit':
        if (step.words === '') return { outcome: 'failed', problem: { code: 'tool_limit_reached' } }
        await this.say('text', step.words)
        return { outcome: 'completed', reason: 'limit' }
      case 'interrupt':
        return { outcome: 'interrupted', ...(step.words ? { problem: { code: 'interrupted', words: step.words } } : {}) }
      case 'error':
        return { outcome: 'failed', problem: { code: step.code, ...(step.words ? { words: step.words } : {}), ...(step.status === undefined ? {} : { status: step.status }) } }
      case 'crash':
        throw new Error(step.words)
      case 'usage':
        await sink({ type: 'usage', usage: step.usage })
        return null
      case 'notice':
        await sink({ type: 'notice', code: step.code, ...(step.words ? { words: step.words } : {}) })
        return null
      case 'title':
        await sink({ type: 'title', text: step.text })
        return null
      case 'bound':
        await sink({ type: 'session.bound', foreign: step.foreign, why: step.why })
        return null
      case 'context':
        await sink({ type: 'context', messages: step.messages })
        return null
    }
  }

  /** A shell row that was opened for a command. */
  #shell(command: string): Promise<string> {
    return this.open('shell', { verb: 'run', target: command, args: { command } })
  }

  async #askFor(order: AskOrder, alone: boolean): Promise<void> {
    const { command, choices, diff, ms, quiet } = order
    const request = {
      action: `Run ${command}`, command, tool: 'shell', cwd: this.p.cwd, reason: order.reason ?? 'The script asks.', risk: order.risk ?? 'low', choices,
      ...(diff === undefined ? {} : { diff }),
    }
    const call = alone ? undefined : await this.#shell(command)
    const kind = await this.asking.permit(request, defined({ call, ms, quiet }))
    if (call === undefined) return
    await this.close(call, isYes(kind) ? { output: `(scripted) ${command}\n`, result: `(scripted) ${command}`, exit: 0 } : { state: 'denied', result: kind === 'over' ? 'nobody answered' : 'refused' })
  }

  async #takeBack(command: string, ms: number): Promise<null> {
    const question = this.asked.handle()
    const call = await this.#shell(command)
    void this.p.sink({ type: 'question.raised', question, call, request: { action: `Run ${command}`, command, tool: 'shell', cwd: this.p.cwd, choices: choicesOf('once', 'deny') } })
    await this.p.pace.wait(ms)
    await this.asking.expire(question)
    await this.close(call, { state: 'denied', result: 'nobody answered' })
    return null
  }

  async #hear(at: 'text' | 'tool' | 'wait'): Promise<null> {
    for (const text of await this.inbox.hear(at)) await this.p.sink({ type: 'text', delta: `(heard: ${text}) ` })
    return null
  }

  async #deltas(count: number): Promise<null> {
    for (let i = 0; i < count; i++) {
      if (this.p.pace.stopped) throw new Stopped()
      await this.p.sink({ type: 'text', delta: deltaText(i) })
      // The event loop belongs to everyone: a burst yields as a socket would.
      if (i % 64 === 63) await new Promise((resolve) => setImmediate(resolve))
    }
    return null
  }

  async #size(units: number): Promise<null> {
    let left = units
    for (let i = 0; left > 0; i++) {
      const delta = sizeText(i).slice(0, left)
      left -= delta.length
      await this.p.sink({ type: 'text', delta })
      if (i % 16 === 15) {
        if (this.p.pace.stopped) throw new Stopped()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return null
  }
}

function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const out: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) if (item !== undefined) out[key] = item
  return out as { [K in keyof T]?: Exclude<T[K], undefined> }
}
