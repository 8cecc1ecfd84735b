import { expect } from 'vitest'
import type { Approval } from '../../server/contract/approvals'
import { Refusal } from '../../server/contract/problems'
import type { Row, SteerRow, ToolRow } from '../../server/contract/rows'
import type { Clarify } from '../../server/contract/questions'
import type { Run, Transcript } from '../../server/contract/session'
import type { Started, Steered } from '../../server/runs/port'
import { checkInvariants } from '../support/invariants'
import { replay } from '../support/replay'
import type { Cue, Rig } from './rig'

const WAIT_MS = 20_000

/** One turn in a chat of its own, and what is seen of it. */
export class TurnUnderTest {
  private constructor(private readonly rig: Rig, readonly started: Started) {}

  static async begin(rig: Rig, cues: Cue[]): Promise<TurnUnderTest | null> {
    const message = rig.message(cues)
    if (message === null) return null
    const { id } = await rig.runs.create(rig.profile, { agent: rig.agent, model: rig.model, workspace: rig.workspace })
    return new TurnUnderTest(rig, await rig.runs.start(rig.profile, { session: id, text: message }))
  }

  /** The next turn of the same chat. */
  async another(cues: Cue[]): Promise<TurnUnderTest> {
    await this.free()
    return new TurnUnderTest(this.rig, await this.rig.runs.start(this.rig.profile, { session: this.started.session, text: this.rig.message(cues)! }))
  }

  stop = () => this.rig.runs.stop(this.rig.profile, this.started.run, 'person')
  decide = (choice: string, approval: string) => this.rig.runs.decide(this.rig.profile, { session: this.started.session, approval, choice })

  answers = (clarify: string, text: string) => this.rig.runs.answer(this.rig.profile, { session: this.started.session, clarify, text })
  steer = (text: string): Promise<Steered> => this.rig.runs.steer(this.rig.profile, { session: this.started.session, text })

  async transcript(): Promise<Transcript> {
    return replay(this.rig.store, this.started.session)
  }

  /** Rows that the turn's agent made, in order. */
  async rows(turn = this.started.turn): Promise<Row[]> {
    const value = await this.transcript()
    return value.order.map((id) => value.rows.get(id)!).filter((row) => row.turn === turn && row.kind !== 'user')
  }

  async tools(): Promise<ToolRow[]> {
    return (await this.rows()).filter((row): row is ToolRow => row.kind === 'tool')
  }

  async steers(): Promise<SteerRow[]> {
    return (await this.rows()).filter((row): row is SteerRow => row.kind === 'steer')
  }

  /** The clarifying question, once it is raised. */
  async clarified(): Promise<Clarify> {
    const find = async (): Promise<Clarify | undefined> => (await this.rows()).map((row) => (row.kind === 'question' ? row.clarify : undefined)).find((clarify) => clarify !== undefined)
    await this.until(async () => (await find()) !== undefined)
    return (await find())!
  }

  async answer(turn?: string): Promise<string> {
    return (await this.rows(turn)).filter((row) => row.kind === 'answer').map((row) => row.text).join('')
  }

  async open(): Promise<Approval[]> {
    return (await this.rows()).flatMap((row) => ('approval' in row && row.approval?.state === 'open' ? [row.approval] : []))
  }

  /** The oldest open question, once there is one. */
  async asked(): Promise<Approval> {
    await this.until(async () => (await this.open()).length > 0)
    return (await this.open())[0]!
  }

  async answerOpen(choice: 'once' | 'deny'): Promise<void> {
    for (const question of await this.open()) await settledOf(this.decide(choice, question.id))
  }

  /** The run's outcome, once it has one; questions on the way are answered with `choice` if given. */
  async settled(choice?: 'once' | 'deny', started: Pick<Started, 'run' | 'turn'> = this.started): Promise<Run> {
    let run: Run | undefined
    await this.until(async () => {
      if (choice) await this.answerOpen(choice)
      run = (await this.transcript()).turns.get(started.turn)?.runs.find((each) => each.id === started.run)
      return run?.state === 'settled'
    })
    return run!
  }

  async until(condition: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + (this.rig.patience ?? WAIT_MS)
    while (!(await condition())) {
      if (Date.now() > end) throw new Error('the condition did not come true in time')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** *Try again* is taken, runs, and leaves nothing of the earlier attempt. */
  async retries(): Promise<boolean> {
    await this.free()
    const again = await this.rig.runs.start(this.rig.profile, { session: this.started.session, retry: this.started.turn })
    await this.settled(undefined, again)
    const rows = await this.rows()
    return again.turn === this.started.turn && rows.every((row) => row.run === again.run)
  }

  /** What every case ends with. */
  async endsWell(): Promise<void> {
    await this.free()
    const { session } = this.started
    const events = await this.rig.store.events(session, { afterSeq: 0, limit: 1_000_000 })
    expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1))
    const startedRuns = events.filter((event) => event.type === 'run.started').map((event) => event.run)
    const settledRuns = events.filter((event) => event.type === 'run.settled').map((event) => event.run)
    expect(settledRuns).toEqual(startedRuns)
    const value = await this.transcript()
    expect(checkInvariants(value)).toEqual([])
    expect([...value.rows.values()].filter((row) => row.state === 'live')).toEqual([])
    expect(await this.open()).toEqual([])
    const window = await this.rig.store.window(session, { limit: 1000 })
    expect(window!.rows).toEqual(value.order.map((id) => value.rows.get(id)))

    const message = this.rig.message([{ cue: 'text', deltas: ['The next ', 'turn works.'] }])
    if (message !== null) {
      const next = await this.rig.runs.start(this.rig.profile, { session, text: message })
      expect(await this.settled(undefined, next)).toMatchObject({ outcome: 'completed' })
      expect(await this.answer(next.turn)).toBe('The next turn works.')
    }
    await this.until(async () => (await this.rig.leftovers()) === 0)
  }

  /** Until no run of this chat is live in memory: its agent has ended. */
  private free(): Promise<void> {
    return this.until(async () => !this.rig.runs.live().some((live) => live.session === this.started.session))
  }
}

/** How something ended, without throwing. */
export async function settledOf<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  return (await Promise.allSettled([work]))[0]
}

/** The code of a refusal. */
export function codeOf(result: PromiseSettledResult<unknown>): string | undefined {
  return result.status === 'rejected' && result.reason instanceof Refusal ? result.reason.problem.code : undefined
}
