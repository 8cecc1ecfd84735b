import type { Delivery, Sink } from '../port'
import type { Asked } from './asked'
import type { Pace } from './pace'
import { choicesOf } from './step'

/** How long before the agent's own time-out ours ends (spec/agents.md §3), ms; half of a time-out that is shorter. */
const MARGIN = 2000

interface Pending { question: string; call: string; command: string; take: (said: string | null) => void }

/**
 * Approvals as Hermes asks them (spec/agents.md §3, tried): they have no ids. An answer goes to the oldest that is open, whichever was meant; one that times out is
 * dropped without a word; and any word but a known refusal is a yes. What ran by which answer stands in the result of the command.
 */
export class Nameless {
  #open: Pending[] = []
  readonly #known = new Set<string>()

  constructor(private readonly p: { sink: Sink; pace: Pace; asked: Asked; cwd: string; open: (command: string) => Promise<string>; close: (call: string, ran: boolean, result: string) => Promise<void> }) {}

  /** Asks for all commands at once; resolves when each has run, was refused or timed out. */
  async ask(asks: readonly { command: string; ms: number }[], lag: number): Promise<void> {
    await Promise.all(asks.map(({ command, ms }) => this.#one(command, ms, lag)))
  }

  /** Null when `question` is none of these. */
  async decide(question: string, choice: string): Promise<Delivery | null> {
    if (!this.#known.has(question)) return null
    const failed = await this.p.asked.fails(() => this.#open.shift()?.take(null))
    if (failed) return failed
    const oldest = this.#open.shift()
    // It answers nobody, and says so to nobody.
    if (!oldest) return { state: 'delivered' }
    oldest.take(choice)
    return { state: 'delivered' }
  }

  async #one(command: string, ms: number, lag: number): Promise<void> {
    const { pace, sink, asked, cwd } = this.p
    const question = asked.handle()
    this.#known.add(question)
    const call = await this.p.open(command)
    let said: string | null = null
    await pace.until((done) => {
      const pending: Pending = { question, call, command, take: (word) => ((said = word), done()) }
      this.#open.push(pending)
      const cancel = pace.after(ms, done)
      void sink({
        type: 'question.raised', question, call, nameless: true,
        request: { action: `Run ${command}`, command, tool: 'shell', cwd, risk: 'high', choices: choicesOf('once', 'deny'), deadline: pace.now() + ms - Math.min(MARGIN, ms / 2) },
      })
      return () => {
        cancel()
        this.#open = this.#open.filter((each) => each !== pending)
      }
    })
    if (said === null) {
      if (lag > 0) await pace.until((done) => pace.after(lag, done))
      return this.p.close(call, false, `timed out: ${command}`)
    }
    const ran = said !== 'deny'
    await this.p.close(call, ran, `${ran ? 'ran' : 'refused'} (${String(said)}): ${command}`)
  }
}
