import type { AgentEvent, AgentSession, StoredContext, TurnEnd, TurnInput } from '../../server/agents/port'
import type { Home } from './embedded-rig'

/** A chat with the embedded agent without `runs/`: what it tells, and a context that is kept as `runs/` keeps it. */
export class Chat {
  readonly events: AgentEvent[] = []
  readonly context: StoredContext[] = []
  #turn = 0
  #session: Promise<AgentSession>
  /** Answers each question; asked with its request. */
  onQuestion: (event: Extract<AgentEvent, { type: 'question.raised' }>) => 'once' | 'session' | 'always' | 'deny' | null = () => 'once'

  constructor(home: Home, cwd = home.workspace, id = 'ses_test') {
    this.#session = home.agent.open(
      { profile: home.profile, session: id, cwd, model: null, context: async () => structuredClone(this.context) },
      (event) => {
        this.events.push(structuredClone(event))
        if (event.type === 'context') for (const message of event.messages) this.context.push({ message: structuredClone(message), turn: `trn_${this.#turn}` })
        if (event.type !== 'question.raised') return
        const choice = this.onQuestion(event)
        if (choice) void this.#session.then((session) => session.decide(event.question, choice))
      },
    )
  }

  get session(): Promise<AgentSession> {
    return this.#session
  }

  async say(text: string, attachments?: TurnInput['attachments']): Promise<TurnEnd> {
    this.#turn += 1
    return await (await this.#session).turn({ turn: `trn_${this.#turn}`, run: `run_${this.#turn}`, text, model: null, retry: false, ...(attachments && { attachments }) })
  }

  /** *Try again* of the last turn, after what `runs/` retracted. */
  async retry(text: string): Promise<TurnEnd> {
    const turn = `trn_${this.#turn}`
    this.context.splice(0, this.context.length, ...this.context.filter((item) => item.turn !== turn || (item.message as { role: string }).role === 'user'))
    return await (await this.#session).turn({ turn, run: `run_${this.#turn}b`, text, model: null, retry: true })
  }

  of<T extends AgentEvent['type']>(type: T): Extract<AgentEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type)
  }

  get text(): string {
    return this.of('text').map((event) => event.delta).join('')
  }

  get thought(): string {
    return this.of('reasoning').map((event) => event.delta).join('')
  }

  async until(condition: () => boolean): Promise<void> {
    const end = Date.now() + 15_000
    while (!condition()) {
      if (Date.now() > end) throw new Error('the condition did not come true in time')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}
