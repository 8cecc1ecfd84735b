import type { Agent, AgentEvent, Probe } from '../agents/port'
import { Refusal } from '../contract/problems'
import type { RunProblem } from '../contract/problems'
import { nextQueued } from '../contract/queue'
import type { AgentRef, ModelRef, SessionHead } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import type { SessionState } from '../store/port'
import { namedAgent, resolved } from './admit'
import type { Core } from './core'
import type { Line } from './line'
import type { Restart } from './restart'
import { lastRunOf } from './settle'
import { readyWorkspace } from './workspace'

/** What a run of the queue can be started with; without an agent it says why. */
type Ready = { ref: AgentRef; model: ModelRef | null } & ({ agent: Agent; probe: Probe } | { agent: null; problem: RunProblem })

/**
 * What begins in a session without a request: the next message of its queue, and turns of its agent. Both take their place among the commands, and are tried
 * again as long as only the store stands in the way.
 */
export class Unasked {
  #sending = false

  constructor(private readonly core: Core, private readonly restart: Restart) {}

  /** A run has ended: first what the agent has begun, then the queue. */
  next(): void {
    const { line } = this.core
    if (line?.foreign.length) this.welcome(line)
    this.drain()
  }

  /** Sends what waits, if nothing runs and it may. */
  drain(): void {
    if (this.#sending) return
    this.#sending = true
    const { serial } = this.core
    void serial.until(() => serial.run(async () => {
      this.#sending = false
      await this.#sendNext()
    })).finally(() => (this.#sending = false))
  }

  /** A turn that nobody submitted gets its run as soon as none of ours is live (spec/agents.md §2). */
  welcome(line: Line): void {
    const { core } = this
    const { p } = core
    void core.serial.until(() => core.serial.run(async () => {
      const waits = (): boolean => !this.#held && core.line === line && !line.closed && line.foreign.length > 0
      const profile = waits() ? await this.#profile() : null
      if (!profile) return
      await this.restart.settleEarlier(profile)
      const { ledger, state: { head, tail } } = await core.held.of(profile)
      if (!waits()) return
      const turn = line.foreign.shift()!
      const { run, committed } = core.begin(ledger, {
        head, tail, agent: head.agent ?? namedAgent(line.agent.kind), model: head.model, workspace: head.workspace, source: turn.source, text: turn.text, now: p.timers.now(),
      })
      try {
        await committed
      } catch (error) {
        line.foreign.unshift(turn)
        throw error
      }
      core.watchStore(run, line.agent, profile, false)
      void run.drive(async () => {
        run.take(line.session)
        turn.attach(run)
        return turn.end
      })
    }))
  }

  /** What an agent says while nothing runs: what is about the chat and not about a turn. */
  idly(event: AgentEvent): void {
    if (event.type !== 'title' && event.type !== 'session.bound') return
    const { held, p, serial } = this.core
    void serial.until(() => serial.run(async () => {
      const profile = await this.#profile()
      if (!profile) return
      const { ledger, state: { head } } = await held.of(profile)
      if (event.type === 'title') held.title(ledger, event.text)
      else await held.write(ledger, [{ type: 'agent.bound', agent: head.agent ?? await p.refOf(head, profile), foreign: event.foreign, why: event.why }])
    }))
  }

  /** True while nothing may begin. */
  get #held(): boolean {
    return this.core.live !== null || this.core.attaching !== null || !this.core.p.admitting()
  }

  /** The profile of a session that stands and of which `needs` holds. */
  async #profile(needs: (state: SessionState) => boolean = () => true): Promise<ProfileContext | null> {
    const stored = await this.core.p.store.load(this.core.id)
    return stored && !stored.deleted && needs(stored) ? this.core.p.profileOf(stored.head.profile) : null
  }

  /** The next message of the queue becomes a turn. An agent that cannot start is told in the turn: nobody else is there to be told. */
  async #sendNext(): Promise<void> {
    const { core } = this
    const profile = this.#held ? null : await this.#profile(({ tail }) => tail.queue.items.length > 0)
    if (!profile) return
    await this.restart.settleEarlier(profile)
    const { ledger, state: { head, tail } } = await core.held.of(profile)
    // Nothing changes the queue while this command runs: whoever wants to comes after it.
    const item = nextQueued(tail.queue, lastRunOf(tail))
    if (!item || this.#held) return
    const ready = await this.#ready(profile, head)

    // From here to the write there is no await: what was checked is claimed (law 8).
    if (this.#held) return
    const { run, admitted, committed } = core.begin(ledger, {
      head, tail, agent: ready.ref, model: ready.model, workspace: head.workspace, source: 'queue', item: item.id, text: item.text, attachments: item.attachments, now: core.p.timers.now(),
      ...(item.key === undefined ? {} : { key: item.key }),
    })
    await committed
    if (ready.agent) core.play(run, ready.agent, ready.probe, profile, head, head.workspace, admitted.turn)
    else void run.drive(async () => ({ outcome: 'failed', problem: ready.problem }))
  }

  async #ready(profile: ProfileContext, head: SessionHead): Promise<Ready> {
    const { p } = this.core
    const bound = await p.refOf(head, profile)
    try {
      const agent = p.agentOf({ agent: bound })
      const [probe] = await Promise.all([this.core.probe(agent, profile), readyWorkspace(p.workspace, head.workspace)])
      return { agent, probe, ...resolved(agent, probe, head) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, error: sentence, words = sentence, hint } = error.problem
      const problem: RunProblem = { code: code === 'no_model' ? 'no_model' : 'agent_unavailable', words, ...(hint === undefined ? {} : { hint }) }
      return { agent: null, problem, ref: bound, model: head.model }
    }
  }
}
