import { expect } from 'vitest'
import type { AgentEvent } from '../../server/agents/port'
import { questionOf } from '../../server/contract/apply-questions'
import type { Choice } from '../../server/contract/approvals'
import type { Event, EventType } from '../../server/contract/events'
import { apply, emptyTranscript } from '../../server/contract/fold'
import { merge } from '../../server/contract/merge'
import { Refusal } from '../../server/contract/problems'
import { nextQueued } from '../../server/contract/queue'
import type { Transcript } from '../../server/contract/session'
import type { Started, Steered } from '../../server/runs/port'
import { lastRunOf } from '../../server/runs/settle'
import type { Committed } from '../../server/store/port'
import { StoreRefusal } from '../../server/store/port'
import { FakeTimers, settle } from '../support/fake-timers'
import { checkInvariants, LogChecker } from '../support/invariants'
import { emptyDisk } from '../support/model-disk'
import { runsRig, seeded } from '../support/runs-rig'
import { Mind } from './mind'

type Rig = ReturnType<typeof runsRig>

/** What was covered, for people who read the log. */
export const seen = { lives: 0, steps: 0, runs: 0, whole: 0, stops: 0, answers: 0, steers: 0, queued: 0, taken: 0, foreign: 0, attached: 0, held: 0, again: 0, crashes: 0, faults: 0, secrets: 0, catchUps: 0 }

/** What clients were told, and so must hold. */
interface Told {
  started: Map<string, Started>
  stopped: Set<string>
  /** Runs that a restart had settled, and whose turn was stopped while its agent was asked about it. */
  held: Set<string>
  queued: Set<string>
  steered: Extract<Steered, { accepted: true }>[]
  /** Answers that were taken, by what was asked: each reaches the agent at most once, and no other does. */
  given: Map<string, string[]>
  secrets: string[]
  /** Runs that met a fault or a crash: their text may end early. */
  harmed: Set<string>
}

/**
 * One whole life of a chat under a clock and dice (law 13): an agent, a person, a store, a reader, and servers that die and come back. The log is checked at
 * every commit; `judge` checks what only the end shows.
 */
export class Life {
  readonly timers = new FakeTimers()
  readonly told: Told = { started: new Map(), stopped: new Set(), held: new Set(), queued: new Set(), steered: [], given: new Map(), secrets: [], harmed: new Set() }
  readonly under: (n: number) => number
  /** Null between a death and the next start. */
  rig: Rig | null
  mind: Mind
  session = ''
  /** True once the store was told to fail: no run is sure to be whole any more. */
  faulty = false
  #minds: Mind[] = []
  #disk = emptyDisk()
  #log = new LogChecker()
  /** The fold of all that has committed. */
  #value = emptyTranscript()
  #said = new Map<string, string>()
  /** `missed`: what commits while it catches up. */
  #reader: { value: Transcript; rev: number; lost: boolean; missed: Committed[] | null } = { value: emptyTranscript(), rev: 0, lost: false, missed: null }
  #wrong: string[] = []
  #open: Promise<unknown>[] = []
  #names = 0
  /** Words that came back from a run that completed: their person was told that they were not taken. */
  #back = new Set<string>()
  readonly #traits: { background: boolean; binds: boolean }

  constructor(seed: number) {
    const random = seeded(seed)
    this.under = (n) => Math.floor(random() * n)
    this.#traits = { background: this.under(2) === 0, binds: this.under(2) === 0 }
    this.mind = this.#newMind()
    this.rig = this.#newRig()
  }

  async begin(): Promise<void> {
    this.session = await this.rig!.chat()
  }

  one<T>(list: readonly T[]): T {
    return list[this.under(list.length)]!
  }

  name(kind: string): string {
    return `${kind}${this.#names++}`
  }

  /** True when the agent can be taken up after a restart. */
  get binds(): boolean {
    return this.#traits.binds
  }

  get value(): Transcript {
    return this.#value
  }

  /** A request; what it is answered is remembered, a refusal is an answer, anything else is a fault of ours. */
  ask<T>(work: (rig: Rig) => Promise<T>, then: (value: T) => void = () => {}): void {
    const { rig } = this
    if (!rig) return
    this.#open.push(work(rig).then((value) => then(value), (error: unknown) => {
      if (!(error instanceof Refusal)) this.#wrong.push(`a request failed with ${String(error)}`)
      else if (error.problem.code === 'internal') this.#wrong.push(`a request failed with ${error.message}`)
    }))
  }

  /** The agent says something, which belongs to the run that is live. */
  say(event: AgentEvent): void {
    const run = this.mind.live && !this.mind.turn!.foreign && lastRunOf(this.#value)
    this.mind.say(event)
    if (!run || run.state === 'settled') return
    if (event.type === 'text') this.#said.set(run.id, (this.#said.get(run.id) ?? '') + event.delta)
  }

  /** Whatever is live now may lose words. */
  harm(): void {
    for (const each of this.rig?.runs.live() ?? []) this.told.harmed.add(each.run)
    seen.faults++
  }

  /** The server dies as by `kill -9`; what was committed may not have been told. */
  kill(): void {
    const { rig } = this
    if (!rig) return
    this.harm()
    if (this.under(3) === 0) rig.model.commit({ answer: false })
    this.#disk = rig.model.crash()
    this.rig = null
    this.mind.cut()
    seen.crashes++
  }

  /** A new server over what is left, and the agent of before or a new one. */
  async start(survives: boolean): Promise<void> {
    if (this.rig) this.kill()
    if (!survives) this.mind = this.#newMind()
    this.rig = this.#newRig()
    await this.#missed()
    await this.rig.runs.recover()
  }

  /** The server ends as it should. */
  async drain(): Promise<void> {
    const { rig } = this
    if (!rig) return
    this.harm()
    rig.model.release()
    rig.model.fault = () => undefined
    const drained = rig.runs.drain()
    await this.timers.advance(8000)
    await drained
    this.kill()
  }

  lose(): void {
    this.#reader.lost = true
  }

  /** The reader comes back and catches up. */
  async catchUp(): Promise<void> {
    const reader = this.#reader
    if (!this.rig || !reader.lost || reader.missed) return
    reader.missed = []
    const changes = await this.rig.store.changes(this.session, { after: String(reader.rev), from: reader.value.from, limit: 10_000 })
    merge(reader.value, changes!, 'after')
    reader.rev = Number(changes!.cursor)
    reader.lost = false
    const { missed } = reader
    reader.missed = null
    for (const entry of missed) this.#read(entry)
    seen.catchUps++
  }

  /** An append of a run that is over: refused, whoever sends it. */
  async late(): Promise<void> {
    if (!this.rig || this.#value.turns.size === 0) return
    const runs = [...this.#value.turns.values()].flatMap((turn) => turn.runs)
    const old = runs.find((run) => run.state === 'settled')
    if (!old) return
    const event: Event = { type: 'run.settled', run: old.id, turn: old.turn, outcome: 'completed', timings: { total: 1 }, session: this.session, seq: this.#value.seq + 1, at: 1 }
    const code = this.rig.store.append({ session: this.session, expectSeq: this.#value.seq + 1, generation: old.generation, events: [event], urgency: 'now' }).then(
      () => 'taken', (error: unknown) => (error instanceof StoreRefusal ? 'refused' : 'failed'))
    this.#open.push(code.then((how) => void (how === 'taken' && this.#wrong.push('an append of a settled run was taken'))))
  }

  /** Remembers an answer that is on its way to `handle`. */
  gives(handle: string, answer: string): void {
    this.told.given.set(handle, [...(this.told.given.get(handle) ?? []), answer])
  }

  /** Lets everything end, and judges the whole. */
  async judge(): Promise<void> {
    if (!this.rig) await this.start(this.under(2) === 0)
    const rig = this.rig!
    rig.model.release()
    rig.model.fault = () => undefined
    const busy = (): boolean => rig.runs.live().length > 0 || this.mind.live
    await this.timers.advance(20_000)
    for (let i = 0; i < 80 && busy(); i++) {
      this.say({ type: 'text', delta: 'Last words.' })
      this.mind.finish({ outcome: 'completed' })
      await this.timers.advance(i < 60 ? 100 : 20_000)
    }
    await this.timers.advance(20_000)
    expect(rig.runs.live()).toEqual([])
    await this.catchUp()
    expect(this.#wrong.join()).toBe('')
    expect(this.#minds.flatMap((mind) => mind.faults).join()).toBe('')
    const value = await rig.transcript(this.session)
    expect(checkInvariants(value)).toEqual([])
    expect(rowsOf(value)).toEqual(rowsOf(this.#value))
    const window = await rig.store.window(this.session, { limit: 10_000 })
    expect(window!.rows).toEqual(rowsOf(value))
    expect(rowsOf(this.#reader.value)).toEqual(rowsOf(value))
    expect([this.#reader.value.queue, this.#reader.value.session]).toEqual([value.queue, value.session])
    expect(nextQueued(value.queue, lastRunOf(value)), 'a message waits that should have gone').toBeNull()
    await this.#judgeInputs(await rig.events(this.session))
    this.#judgeAnswers()
    this.#judgeText(value)
    const kept = JSON.stringify([...this.#disk.sessions, ...this.#disk.receipts, ...rig.model.disk.sessions], (_, each: unknown) => (each instanceof Map ? [...each] : each))
    for (const secret of this.told.secrets) expect(kept).not.toContain(secret)
    seen.lives++
    // Those that wait for what never comes, such as a request to a server that was killed, are left.
    await Promise.race([Promise.all(this.#open), settle()])
    expect(this.#wrong.join()).toBe('')
  }

  /** Every input that was accepted is in exactly one turn, waits, or was given back. */
  async #judgeInputs(events: Event[]): Promise<void> {
    const of = <T extends EventType>(type: T) => events.filter((event): event is Extract<Event, { type: T }> => event.type === type)
    const settled = of('run.settled')
    expect(settled.map((event) => event.run)).toEqual(of('run.started').map((event) => event.run))
    for (const [key, started] of this.told.started) expect(of('turn.admitted').filter((event) => event.key === key).map((event) => event.turn)).toEqual([started.turn])
    for (const run of this.told.stopped) expect(settled.find((event) => event.run === run)!.outcome).toBe('cancelled')
    for (const old of this.told.held) {
      const after = of('run.started').filter((event) => event.turn === of('run.started').find((each) => each.run === old)!.turn).map((event) => event.run)
      const next = after[after.indexOf(old) + 1]
      expect([settled.find((event) => event.run === next)!.outcome, of('run.started').find((event) => event.run === next)!.cause]).toEqual(['cancelled', 'reattached'])
      const again = of('run.started').find((event) => event.run === after[after.indexOf(old) + 2])
      expect(again?.cause, 'what was stopped was taken up again').not.toBe('reattached')
    }
    for (const item of this.told.queued) {
      const joined = of('queue.combined').filter((event) => event.items.slice(1).includes(item)).length
      const left = joined + of('queue.removed').filter((event) => event.items.includes(item)).length + of('queue.taken').filter((event) => event.item === item).length
      expect([of('queue.added').filter((event) => event.item === item).length, left + this.#value.queue.items.filter((each) => each.id === item).length]).toEqual([1, 1])
    }
    for (const { steer, run } of this.told.steered) {
      expect(this.#back, 'a word that was taken came back').not.toContain(steer)
      const accepted = of('steer.accepted').filter((event) => event.steer === steer)
      expect(accepted).toMatchObject([{ run }])
      // Back in the draft and with the agent again, any number of times; then one end.
      const again = of('run.started').filter((event) => event.reopens?.includes(accepted[0]!.row)).length
      expect([...of('steer.delivered'), ...of('steer.returned')].filter((event) => event.steer === steer)).toHaveLength(1 + again)
      seen.again += again
    }
    seen.runs += settled.length
    seen.stops += this.told.stopped.size
    seen.held += this.told.held.size
    seen.queued += this.told.queued.size
    seen.steers += this.told.steered.length
    seen.secrets += this.told.secrets.length
    seen.taken += of('queue.taken').length
    seen.foreign += of('turn.admitted').filter((event) => event.source === 'agent' || event.source === 'wakeup').length
    seen.attached += of('run.started').filter((event) => event.cause === 'reattached').length
  }

  /** What the agent took was meant for that question, and came once. */
  #judgeAnswers(): void {
    for (const mind of this.#minds) {
      for (const [handle, { got }] of mind.asked) {
        expect(got.length, `answers to ${handle}`).toBeLessThanOrEqual(1)
        for (const answer of got) expect(this.told.given.get(handle) ?? [], handle).toContain(answer)
        seen.answers += got.length
      }
    }
  }

  /** A run that nothing happened to holds exactly what its agent said. */
  #judgeText(value: Transcript): void {
    for (const turn of value.turns.values()) {
      const answers = rowsOf(value).filter((row) => row.kind === 'answer' && row.turn === turn.id)
      for (const row of answers) expect(row.text).not.toMatch(/\p{Surrogate}/u)
      // Whatever was taken up again, cut or repeated: nothing stands twice.
      const words = answers.flatMap((row) => row.text.match(/w\d+ /g) ?? [])
      expect(words).toEqual([...new Set(words)])
      const [run] = turn.runs
      if (turn.runs.length !== 1 || run!.outcome !== 'completed' || this.told.harmed.has(run!.id) || turn.source === 'agent' || turn.source === 'wakeup') continue
      seen.whole++
      const settled = answers.map((row) => row.text).join('')
      // Halves of a character are joined within a row and become U+FFFD at its end; whether a question ends a row depends on where it is shown.
      const whole = (text: string): string => text.replace(/\u{1F680}|[\p{Surrogate}\uFFFD]/gu, '')
      expect(whole(settled)).toBe(whole(this.#said.get(run!.id) ?? ''))
    }
  }

  #newMind(): Mind {
    const mind = new Mind({ timers: this.timers, under: this.under, name: this.name('mind'), ...this.#traits })
    this.#minds.push(mind)
    return mind
  }

  #newRig(): Rig {
    const rig = runsRig({ agents: { scripted: this.mind.face() }, seed: this.under(1e9), disk: this.#disk, timers: this.timers })
    rig.model.onCommit((batch) => {
      if (this.rig === rig || this.rig === null) for (const entry of batch) this.#committed(entry)
    })
    return rig
  }

  #committed(entry: Committed): void {
    this.#check(entry.events)
    if (this.#reader.missed) this.#reader.missed.push(entry)
    else if (!this.#reader.lost) this.#read(entry)
  }

  #read(entry: Committed): void {
    for (const event of entry.events) if (apply(this.#reader.value, event).state === 'gap') this.#wrong.push(`the reader could not take ${event.type}`)
    this.#reader.rev = Math.max(this.#reader.rev, entry.rev)
  }

  /** What committed as the server died, and told nobody. */
  async #missed(): Promise<void> {
    const events = this.session === '' ? [] : await this.rig!.store.events(this.session, { afterSeq: this.#value.seq, limit: 1000 })
    if (events.length > 0) this.#check(events)
    if (this.#reader.value.seq < this.#value.seq) this.#reader.lost = true
  }

  #check(events: readonly Event[]): void {
    try {
      this.#log.take(events)
    } catch (error) {
      this.#wrong.push((error as Error).message)
    }
    for (const event of events) {
      if (event.type === 'queue.taken' && nextQueued(this.#value.queue, lastRunOf(this.#value))?.id !== event.item) this.#wrong.push('a message was sent out of its turn')
      if (event.type === 'steer.returned') this.#returned(event, events)
      if (event.type === 'run.started' && event.cause === 'reattached') this.#tookUp(event)
      if (event.type === 'approval.decided' && event.by === 'auto') this.#auto(event.approval, event.row, event.choice)
      if (apply(this.#value, event).state !== 'applied') this.#wrong.push(`${event.type} does not fit the log`)
    }
  }

  /** The words that the agent has are with it again, and no others: what it has heard is never the person's as well. */
  #tookUp({ turn, reopens = [] }: Extract<Event, { type: 'run.started' }>): void {
    const before = this.#value.turns.get(turn)!.runs.at(-1)!.id
    const words = reopens.flatMap((id) => {
      const row = this.#value.rows.get(id)
      return row?.kind === 'steer' ? [row.steer.id] : []
    })
    const named = this.#minds.findLast((mind) => mind.named.has(before))?.named.get(before) ?? []
    if (words.toSorted().join() !== named.toSorted().join()) this.#wrong.push(`the agent has the words ${named.join()}, and the run ${words.join()}`)
  }

  /** Words go into the queue after a run that completed, and only then; else, or if their person was told so before, they are back with the person (spec/log.md §3). */
  #returned({ to, steer }: Extract<Event, { type: 'steer.returned' }>, append: readonly Event[]): void {
    const end = append.find((event) => event.type === 'run.settled')
    const completed = end?.type === 'run.settled' && end.outcome === 'completed'
    if (to === 'queue' && !completed) this.#wrong.push('a word went to the queue after a run that did not complete')
    if (to === 'draft' && completed) this.#back.add(steer)
  }

  /** The chat answered by itself. */
  #auto(approval: string, id: string, choice: string): void {
    const row = this.#value.rows.get(id)
    const asked = row && questionOf(row)
    if (!asked || asked.id !== approval || !('command' in asked)) return
    const once = asked.choices.find((each: Choice) => each.kind === 'once')
    if (once?.id !== choice) this.#wrong.push('a chat answered by itself with something else than once')
    this.gives(asked.command!, choice)
  }
}

function rowsOf(value: Transcript) {
  return value.order.map((id) => value.rows.get(id)!)
}
