import { describe, expect, it } from 'vitest'
import type { AgentEvent, Delivery } from '../../../../server/agents/port'
import type { Choice } from '../../../../server/contract/approvals'
import type { Event } from '../../../../server/contract/events'
import { Refusal } from '../../../../server/contract/problems'
import { settle } from '../../../support/fake-timers'
import { Puppet } from '../../../support/puppet'
import { seeded } from '../../../support/runs-rig'
import { talking } from './talking'

const CHOICES: Choice[] = [{ id: 'o', kind: 'once' }, { id: 's', kind: 'session' }, { id: 'a', kind: 'always' }, { id: 'n', kind: 'deny' }, { id: 'nn', kind: 'deny_always' }]
const ROUNDS = 60
const STEPS = 70

/** A question as the agent itself has it: what it asked, by which name, and until when it takes an answer. */
interface Held { name: string; kind: 'approval' | 'clarify' | 'secret'; nameless: boolean; call?: string; until: number; open: boolean }

/** A life of questions: whatever is asked, answered, taken back and said, in any order, with deliveries that fail in every way. */
async function life(random: () => number): Promise<void> {
  const below = (n: number): number => Math.floor(random() * n)
  const pick = <T>(from: readonly T[]): T => from[below(from.length)]!
  const puppet = new Puppet()
  const rig = await talking({}, puppet)
  const { timers, turn, model, runs, profile, session, started } = rig
  const held: Held[] = []
  const calls: string[] = []
  const told: { name: string; said: string; at: number }[] = []
  const hanging: (() => void)[] = []
  const asked: Promise<unknown>[] = []
  const wrong: string[] = []
  let over = false
  let names = 0

  const openIn = (): Held[] => held.filter((each) => each.open && each.until > timers.monotonic())
  const seen = (): Event[] => model.disk.sessions.get(session)!.log.map(({ event }) => event)
  /** What the log says of the newest question of this name at this instant. */
  const standing = (name: string): string => {
    let state = 'unknown'
    let id = ''
    for (const event of seen()) {
      if ((event.type === 'approval.raised' || event.type === 'clarify.raised' || event.type === 'secret.raised') && nameOf(event) === name) [state, id] = ['open', idOf(event)]
      else if (id !== '' && idOf(event) === id) state = event.type.endsWith('.retired') ? 'retired' : event.type.endsWith('.raised') ? 'open' : `answered ${saidOf(event)}`
    }
    return state
  }
  const deliver = (name: string, said: string): Promise<Delivery> => {
    told.push({ name, said, at: timers.monotonic() })
    const mine = held.find((each) => each.name === name)!
    if (standing(name) !== `answered ${said}`) wrong.push(`${name} is told ${said}, the log says: ${standing(name)}`)
    if (over) wrong.push(`${name} is told after the stop`)
    if (mine.nameless) {
      const oldest = openIn().find((each) => each.nameless)
      if (oldest && oldest !== mine) wrong.push(`the answer for ${name} reaches ${oldest.name}`)
    }
    const take = (): Delivery => {
      const there = mine.open && mine.until > timers.monotonic()
      mine.open = false
      return there ? { state: 'delivered' } : { state: 'refused', code: 'question_gone' }
    }
    switch (below(7)) {
      case 0: return Promise.resolve({ state: 'refused', code: 'relay_failed', words: 'no line' })
      // Nobody knows whether it arrived: it did, or it did not.
      case 1:
        if (random() < 0.5) take()
        return Promise.reject(new Error('the line is dead'))
      case 2: return new Promise((resolve) => hanging.push(() => resolve(take())))
      default: return Promise.resolve(take())
    }
  }
  puppet.onDecide = (name, choice) => deliver(name, choice)
  puppet.onAnswer = (name, text) => deliver(name, text)
  puppet.onGive = (name, value) => deliver(name, value === null ? 'no' : 'yes')
  puppet.onStop = () => {}
  const send = (work: Promise<unknown>): void => {
    asked.push(work.catch((error: unknown) => { if (!(error instanceof Refusal)) throw error }))
  }

  const raise = (): void => {
    const name = `q${names++}`
    const call = calls.length > 0 && random() < 0.7 ? pick(calls) : undefined
    const timed = random() < 0.6
    const ms = 1000 + below(20_000)
    const deadline = timed ? { deadline: timers.now() + ms } : {}
    const kind = pick(['approval', 'approval', 'approval', 'clarify', 'secret'] as const)
    const nameless = kind === 'approval' && random() < 0.6
    held.push({ name, kind, nameless, ...(kind === 'approval' && call !== undefined ? { call } : {}), until: timed ? timers.monotonic() + ms + 2000 : Infinity, open: true })
    if (kind === 'clarify') turn.emit({ type: 'clarify.raised', question: name, request: { question: name, choices: ['x', 'y'], free: true, ...deadline } })
    else if (kind === 'secret') turn.emit({ type: 'secret.raised', question: name, request: { kind: 'secret', prompt: name, ...deadline } })
    else {
      const choices = CHOICES.filter(() => random() < 0.8)
      turn.emit({ type: 'question.raised', question: name, ...(call === undefined ? {} : { call }), ...(nameless ? { nameless: true as const } : {}), request: { action: 'Run', command: name, tool: 'shell', choices, ...deadline } })
    }
  }
  const answer = (): void => {
    const raised = seen().filter((event) => event.type === 'approval.raised' || event.type === 'clarify.raised' || event.type === 'secret.raised')
    if (raised.length === 0) return
    const event = random() < 0.7 ? raised.at(-1 - below(Math.min(4, raised.length)))! : pick(raised)
    if (event.type === 'approval.raised') send(runs.decide(profile, { session, approval: event.approval, choice: pick(['o', 's', 'a', 'n', 'nn', 'once', 'deny', 'x']) }))
    else if (event.type === 'clarify.raised') send(runs.answer(profile, { session, clarify: event.clarify, text: pick(['x', 'y', 'z']) }))
    else if (event.type === 'secret.raised') send(runs.give(profile, { session, secret: event.secret, value: pick([null, 'v']) }))
  }
  const steps: (() => void | Promise<void>)[] = [
    raise, raise, raise, answer, answer, answer, answer,
    () => {
      const call = `c${names++}`
      calls.push(call)
      turn.emit({ type: 'tool.started', call, name: 'shell', verb: 'run' })
    },
    () => {
      const call = calls.splice(below(calls.length), 1)[0]
      if (call === undefined) return
      // What the agent asked for a tool is over for it before it says that the tool has ended.
      for (const each of held) if (each.call === call) each.open = false
      turn.emit({ type: 'tool.closed', call, state: pick(['done', 'failed', 'cancelled'] as const) })
    },
    () => {
      const mine = openIn()
      if (mine.length === 0) return
      const each = pick(mine)
      const why = pick(['expired', 'withdrawn'] as const)
      // An adapter's own clock says nothing of the agent.
      if (why === 'withdrawn') each.open = false
      turn.emit({ type: 'question.withdrawn', question: each.name, why })
    },
    () => turn.emit(pick<AgentEvent>([{ type: 'text', delta: 'word ' }, { type: 'reasoning', delta: 'hm ' }, { type: 'message', text: `m${names++}` }])),
    () => timers.advance(below(8000)),
    () => timers.advance(below(8000)),
    () => hanging.splice(below(hanging.length), 1)[0]?.(),
    () => settle(),
    () => (random() < 0.3 ? model.hold() : model.release()),
    () => { if (random() < 0.3) send(runs.approveAll(profile, session, random() < 0.7)) },
  ]
  for (let step = 0; step < STEPS; step++) {
    await pick(steps)()
    if (random() < 0.6) await settle()
  }
  const stopped = random() < 0.5
  if (stopped) {
    model.release()
    await runs.stop(profile, started.run, 'person')
    over = true
  }
  model.release()
  await settle()
  turn.end({ outcome: 'completed' })
  await settle()
  over = true
  for (const arrive of hanging) arrive()
  await timers.advance(30_000)
  await Promise.all(asked)

  expect(wrong).toEqual([])
  // The store takes only what fits: nothing that was written was out of order.
  expect((await rig.runOf(started)).outcome).toBe(stopped ? 'cancelled' : 'completed')
  const events = seen()
  const ends = new Map<string, string[]>()
  for (const event of events) {
    const id = idOf(event)
    if (id !== '') ends.set(id, [...(ends.get(id) ?? []), event.type.split('.')[1]!])
  }
  for (const [id, types] of ends) {
    expect([id, types[0], types.filter((type) => type !== 'raised' && type !== 'retired').length <= 1, types.indexOf('retired') < 0 || types.indexOf('retired') === types.length - 1]).toEqual([id, 'raised', true, true])
    expect(types.length).toBeGreaterThan(1)
  }
  // Each answer in the log was told at most once, and nothing was told that is not in it.
  const answers = new Map<string, number>()
  const nameById = new Map(events.flatMap((event) => (event.type.endsWith('.raised') ? [[idOf(event), nameOf(event)] as const] : [])))
  for (const event of events) if (saidOf(event) !== '') answers.set(`${nameById.get(idOf(event))} ${saidOf(event)}`, (answers.get(`${nameById.get(idOf(event))} ${saidOf(event)}`) ?? 0) + 1)
  for (const { name, said } of told) {
    const left = answers.get(`${name} ${said}`) ?? 0
    expect([name, said, left > 0]).toEqual([name, said, true])
    answers.set(`${name} ${said}`, left - 1)
  }
  // Only what the question offered was ever chosen.
  for (const event of events) {
    if (event.type !== 'approval.decided') continue
    const raised = events.find((each) => each.type === 'approval.raised' && each.approval === event.approval)
    expect(raised?.type === 'approval.raised' && raised.request.choices.some(({ id, kind }) => id === event.choice && kind === event.kind)).toBe(true)
    if (event.by === 'auto') expect(event.kind).toBe('once')
    expect(raised?.type === 'approval.raised' && raised.request.waits).toBeFalsy()
  }
  expect((await rig.asked()).filter((each) => each.state === 'open')).toEqual([])
  expect(timers.pending).toBe(0)
}

function idOf(event: Event): string {
  return 'approval' in event ? event.approval : 'clarify' in event ? event.clarify : 'secret' in event ? event.secret : ''
}

function nameOf(event: Event): string {
  if (event.type === 'approval.raised') return event.request.command!
  if (event.type === 'clarify.raised') return event.request.question
  return event.type === 'secret.raised' ? event.request.prompt : ''
}

function saidOf(event: Event): string {
  if (event.type === 'approval.decided') return event.choice
  if (event.type === 'clarify.answered') return event.answer
  return event.type === 'secret.answered' ? (event.given ? 'yes' : 'no') : ''
}

describe('questions in any order of events', () => {
  it('are each answered at most once, each answer to exactly the one that it was meant for, and none after it was over (any seed)', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32)
    console.log(`questions: seed ${seed}`)
    for (let round = 0; round < ROUNDS; round++) {
      await life(seeded(seed + round)).catch((error: unknown) => { throw new Error(`seed ${seed + round}: ${String((error as Error).stack ?? error)}`) })
    }
  }, 60_000)
})
