import type { ApprovalRequest } from '../../contract/approvals'
import type { Delivery, Sink, TurnEnd } from '../port'
import { Stopped } from './pace'
import type { Pace } from './pace'
import type { ScriptedTool, Step } from './script'

/** Words a minute of the scripted agent, as a pause after each piece of text, ms. */
const PIECE_MS = 18

/**
 * Performs one program for one turn. It keeps what it has opened, so that a stop in the middle leaves no tool behind that it could have closed;
 * what it leaves open after all is the run's to close.
 */
export class Player {
  #questions = new Map<string, (choice: string) => void>()
  #calls = 0
  #asked = 0
  #open = new Set<string>()

  constructor(private readonly sink: Sink, private readonly pace: Pace, private readonly cwd: string) {}

  /** Plays steps in order, up to the one that ends the turn. */
  play(steps: Iterable<Step>): Promise<TurnEnd> {
    return this.perform(async () => {
      for (const step of steps) {
        const end = await this.#perform(step)
        if (end) return end
      }
      return null
    })
  }

  /** Runs a program to the turn's end; stop ends it as cancelled. */
  async perform(program: () => Promise<TurnEnd | null | void>): Promise<TurnEnd> {
    try {
      return (await program()) ?? { outcome: 'completed' }
    } catch (error) {
      if (!(error instanceof Stopped)) throw error
      for (const call of this.#open) await this.sink({ type: 'tool.closed', call, state: 'cancelled' })
      return { outcome: 'cancelled' }
    }
  }

  /** A person's answer; `question_gone` when nobody waits for it any more. */
  decide(question: string, choice: string): Delivery {
    const answer = this.#questions.get(question)
    if (!answer) return { state: 'refused', code: 'question_gone' }
    this.#questions.delete(question)
    answer(choice)
    return { state: 'delivered' }
  }

  /** Raises a question and resolves with the choice. */
  async ask(request: Omit<ApprovalRequest, 'choices'>, call?: string): Promise<'once' | 'deny'> {
    const question = `q${++this.#asked}`
    let choice = 'deny'
    await this.pace.until((done) => {
      this.#questions.set(question, (chosen) => {
        choice = chosen
        done()
      })
      void this.sink({ type: 'question.raised', question, ...(call === undefined ? {} : { call }), request: { ...request, choices: CHOICES } })
      return () => this.#questions.delete(question)
    })
    return choice === 'once' ? 'once' : 'deny'
  }

  /** Opens a tool and answers its call id. */
  async open(name: string, tool: ScriptedTool): Promise<string> {
    const call = tool.call ?? `call_${++this.#calls}`
    this.#open.add(call)
    const { parent, title, target, args } = tool
    await this.sink({ type: 'tool.started', call, name, verb: tool.verb ?? 'other', ...defined({ parent, title, target, args }) })
    return call
  }

  async close(call: string, tool: ScriptedTool): Promise<void> {
    this.#open.delete(call)
    const { output, result, diff, exit } = tool
    await this.sink({ type: 'tool.closed', call, state: tool.state ?? 'done', ...defined({ output, result, diff, exit }) })
  }

  /** Streams text in pieces of about a word. */
  async say(type: 'text' | 'reasoning', text: string): Promise<void> {
    for (const piece of text.match(/\s*\S+\s*|\s+/g) ?? []) {
      await this.sink({ type, delta: piece })
      await this.pace.wait(PIECE_MS)
    }
  }

  async #perform(step: Step): Promise<TurnEnd | null> {
    if (this.pace.stopped) throw new Stopped()
    switch (step.do) {
      case 'say':
        await this.say('text', step.text)
        return null
      case 'reason':
        await this.say('reasoning', step.text)
        return null
      case 'raw':
        await this.sink({ type: 'text', delta: step.delta })
        return null
      case 'replace':
        await this.sink({ type: 'text.replace', from: step.from, text: step.text })
        return null
      case 'segment':
        await this.sink({ type: 'segment' })
        return null
      case 'deltas':
        return this.#deltas(step.count)
      case 'size':
        return this.#size(step.units)
      case 'tool': {
        const call = await this.open(step.name, step.tool)
        if (step.tool.open) return null
        await this.pace.wait(step.tool.ms ?? 0)
        await this.close(call, step.tool)
        return null
      }
      case 'end':
        await this.pace.wait(step.tool.ms ?? 0)
        await this.close(step.call, step.tool)
        return null
      case 'ask':
        await Promise.all(step.commands.map((command) => this.#askFor(command, step.alone ?? false)))
        return null
      case 'expire':
        return this.#expire(step.command, step.ms)
      case 'delay':
        await this.pace.wait(step.ms)
        return null
      case 'silence':
        await this.pace.until(() => undefined)
        return null
      case 'deaf':
        return new Promise(() => undefined)
      case 'error':
        return { outcome: 'failed', problem: { code: step.code, ...(step.words ? { words: step.words } : {}) } }
      case 'crash':
        throw new Error(step.words)
      case 'usage':
        await this.sink({ type: 'usage', usage: step.usage })
        return null
      case 'notice':
        await this.sink({ type: 'notice', code: step.code, ...(step.words ? { words: step.words } : {}) })
        return null
      case 'title':
        await this.sink({ type: 'title', text: step.text })
        return null
      case 'context':
        await this.sink({ type: 'context', messages: step.messages })
        return null
    }
  }

  async #askFor(command: string, alone: boolean): Promise<void> {
    const request = { action: `Run ${command}`, command, tool: 'shell', cwd: this.cwd, reason: 'The script asks.', risk: 'low' as const }
    if (alone) {
      await this.ask(request)
      return
    }
    const call = await this.open('shell', { verb: 'run', target: command, args: { command } })
    const choice = await this.ask(request, call)
    await this.close(call, choice === 'once' ? { output: `(scripted) ${command}\n`, result: `(scripted) ${command}`, exit: 0 } : { state: 'denied', result: 'refused' })
  }

  async #expire(command: string, ms: number): Promise<null> {
    const question = `q${++this.#asked}`
    const call = await this.open('shell', { verb: 'run', target: command, args: { command } })
    void this.sink({ type: 'question.raised', question, call, request: { action: `Run ${command}`, command, tool: 'shell', cwd: this.cwd, choices: CHOICES } })
    await this.pace.wait(ms)
    await this.sink({ type: 'question.withdrawn', question, why: 'expired' })
    await this.close(call, { state: 'denied', result: 'nobody answered' })
    return null
  }

  async #deltas(count: number): Promise<null> {
    for (let i = 0; i < count; i++) {
      if (this.pace.stopped) throw new Stopped()
      await this.sink({ type: 'text', delta: deltaText(i) })
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
      await this.sink({ type: 'text', delta })
      if (i % 16 === 15) {
        if (this.pace.stopped) throw new Stopped()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return null
  }
}

const CHOICES: ApprovalRequest['choices'] = [{ id: 'once', kind: 'once' }, { id: 'deny', kind: 'deny' }]

/** The n-th delta of `[[deltas:…]]`: ten units, and a new paragraph now and then. */
export function deltaText(i: number): string {
  const word = `w${i.toString(36)}`.padEnd(8, 'a')
  return i % 40 === 39 ? word + '.\n\n' : word.slice(0, 8) + (i % 10 === 9 ? '. ' : ', ')
}

/** The n-th piece of `[[size:…]]`: a line of sixty-four units. */
export function sizeText(i: number): string {
  return `${i.toString().padStart(6, '0')} `.padEnd(63, 'the quick brown fox jumps over the lazy dog ') + '\n'
}

function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const out: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) if (item !== undefined) out[key] = item
  return out as { [K in keyof T]?: Exclude<T[K], undefined> }
}
