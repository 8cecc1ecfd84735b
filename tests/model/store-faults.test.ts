import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { emptyTranscript, fold, merge } from '../../server/contract/fold'
import type { Event, EventOf, EventType } from '../../server/contract/events'
import { Refusal } from '../../server/contract/problems'
import { StoreFault, type Store } from '../../server/store/port'
import { settle, FakeTimers } from '../support/fake-timers'
import { checkInvariants } from '../support/invariants'
import { ModelStore } from '../support/model-store'
import { Puppet, request } from '../support/puppet'
import { runsRig } from '../support/runs-rig'
import { startFaulty, type DriverFault, type DriverPlan } from '../support/store-faulty'
import { startInline } from '../support/store-inline'
import { freshFolder, openTestStore } from '../support/store-thread'

/** What a person asked for and was answered: `none`, or the code of the refusal. */
interface Answers { send: string; decide: string; answer: string; give: string; steer: string; left: string; queue: string; rename: string; create: string; mark: string }

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    if (error instanceof Refusal) return error.problem.code
    if (error instanceof StoreFault) return `store_${error.kind}`
    throw error
  }
}

/** One scripted turn with everything that a person can do in it, and what it leaves behind for the next: a queued message and a word that came too late. */
async function play(rig: ReturnType<typeof runsRig>, puppet: Puppet, session: string): Promise<Answers> {
  const { runs, profile, timers } = rig
  const emit = (...events: Parameters<Puppet['turn']['emit']>): void => puppet.turns[0] && puppet.turns[0].emit(...events)
  const pass = (ms = 40) => timers.advance(ms)
  const steer = async (text: string): Promise<string> => {
    const answers: unknown[] = []
    const code = await codeOf(runs.steer(profile, { session, text }).then((answer) => answers.push(answer)))
    return code === 'none' && !(answers[0] as { accepted: boolean }).accepted ? 'not accepted' : code
  }

  const send = await codeOf(runs.start(profile, { session, text: 'Hello', key: 'key-1', bodyHash: 'hash-1' }))
  await pass()
  emit({ type: 'reasoning', delta: 'I look. ' })
  emit({ type: 'text', delta: 'First ' })
  await pass()
  emit({ type: 'text', delta: 'words.' })
  emit({ type: 'tool.started', call: 'c1', name: 'read', verb: 'read', target: 'a.md' })
  await pass()
  emit({ type: 'tool.closed', call: 'c1', state: 'done', result: 'Alpha' })
  emit({ type: 'tool.started', call: 'c2', name: 'shell', verb: 'run', target: 'ls' })
  emit({ type: 'question.raised', question: 'q1', call: 'c2', foreign: 'their id', request: request('ls') })
  await pass()
  const decide = await codeOf(runs.decide(profile, { session, choice: 'once' }))
  emit({ type: 'tool.closed', call: 'c2', state: 'done', output: 'a.md' })
  emit({ type: 'clarify.raised', question: 'q2', request: { question: 'Which colour?', choices: ['red', 'blue'], free: true } })
  await pass()
  const answer = await codeOf(runs.answer(profile, { session, text: 'red' }))
  emit({ type: 'secret.raised', question: 'q3', request: { kind: 'sudo', prompt: 'To install it' } })
  await pass()
  const open = [...(await rig.transcript(session)).rows.values()].flatMap((row) => (row.kind === 'question' && row.secret?.state === 'open' ? [row.secret.id] : []))
  const give = await codeOf(runs.give(profile, { session, secret: open[0] ?? 'sec_none', value: 'a password' }))
  const heard = await steer('Also the tests')
  for (const { steer: id } of puppet.turns[0]?.steers ?? []) emit({ type: 'steer.delivered', steer: id, evidence: 'seen' })
  await pass()
  const left = await steer('One more word')
  const queue = await codeOf(runs.enqueue(profile, { session, text: 'The next message' }))
  const rename = await codeOf(runs.rename(profile, session, 'Named by a person'))
  const create = await codeOf(runs.create(profile, { title: 'Another chat' }))
  const mark = await codeOf(rig.store.markRead(session, 1))
  emit({ type: 'usage', usage: { input: 3, output: 4 } })
  emit({ type: 'text', delta: ' Done.' })
  await pass()
  if (!puppet.turns[0]?.over) puppet.turns[0]?.end({ outcome: 'completed' })
  // What waits is sent by itself, as far as the rules say; each of these turns gets its answer.
  for (let i = 0; i < 200; i++) {
    await timers.advance(i < 20 ? 50 : 5000)
    for (const turn of puppet.turns.slice(1)) {
      if (turn.over) continue
      turn.emit({ type: 'text', delta: 'Answered.' })
      await pass()
      turn.end({ outcome: 'completed' })
      await pass()
    }
    if (i >= 3 && runs.live().length === 0) break
  }
  return { send, decide, answer, give, steer: heard, left, queue, rename, create, mark }
}

function of<T extends EventType>(events: readonly Event[], type: T): EventOf<T>[] {
  return events.filter((event): event is EventOf<T> => event.type === type)
}

async function whole(store: Store, session: string) {
  const value = emptyTranscript()
  merge(value, (await store.window(session, { limit: 10_000 }))!, 'window')
  return value
}

/** Success or error, never half: what was answered with success is in the log, what was answered with a fault is not, the agent was told nothing that is not, and all of it is sound. */
async function holds(rig: ReturnType<typeof runsRig>, puppet: Puppet, session: string, answers: Answers, faulted: boolean): Promise<void> {
  const events = await rig.events(session)
  const value = fold(emptyTranscript(), events)
  expect(checkInvariants(value)).toEqual([])
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
  expect(await whole(rig.store, session)).toEqual(value)
  const started = of(events, 'run.started').map(({ run }) => run)
  expect(of(events, 'run.settled').map(({ run }) => run)).toEqual(started)
  const { entries } = await rig.store.list({ profile: 'default', limit: 5 })
  const entry = entries.find(({ id }) => id === session)
  expect(entry).toMatchObject({ state: 'idle', questions: 0 })
  expect(entry?.queued ?? 0).toBe(value.queue.items.length)

  const said = (text: string): boolean => [...value.rows.values()].some((row) => row.text === text)
  const there: Record<keyof Answers, boolean> = {
    send: of(events, 'turn.admitted').some(({ text }) => text === 'Hello'), decide: of(events, 'approval.decided').length > 0, answer: of(events, 'clarify.answered').length > 0,
    give: of(events, 'secret.answered').length > 0,
    steer: said('Also the tests'), left: said('One more word'), queue: of(events, 'queue.added').some(({ by }) => by === 'person'),
    rename: of(events, 'session.changed').some(({ titleBy }) => titleBy === 'person'), create: entries.some(({ title }) => title === 'Another chat'), mark: entry?.read === 1,
  }
  for (const [verb, code] of Object.entries(answers) as [keyof Answers, string][]) {
    if (code === 'none') expect(there[verb], `${verb} was taken`).toBe(true)
    else {
      expect(there[verb], `${verb} was refused: ${code}`).toBe(false)
      expect(faulted).toBe(true)
    }
  }
  const told = puppet.turns.flatMap(({ decisions, answers: words, given, steers }) => [decisions.length, words.length, given.length, steers.length])
  const sum = (k: number): number => told.filter((_, i) => i % 4 === k).reduce((a, b) => a + b, 0)
  for (const [k, type] of (['approval.decided', 'clarify.answered', 'secret.answered', 'steer.accepted'] as const).entries()) expect(sum(k), type).toBeLessThanOrEqual(of(events, type).length)
  expect(JSON.stringify(events)).not.toContain('a password')
  expect(puppet.turns.length).toBeLessThanOrEqual(started.length)
  const over = [...of(events, 'steer.delivered'), ...of(events, 'steer.returned')].map(({ steer }) => steer).sort()
  expect(over).toEqual(of(events, 'steer.accepted').map(({ steer }) => steer).sort())
  // Every message that was to wait has been sent once, or waits still.
  const added = of(events, 'queue.added').map(({ item }) => item)
  expect([...of(events, 'queue.taken').map(({ item }) => item), ...value.queue.items.map(({ id }) => id)].sort()).toEqual(added.sort())
  if (!faulted) expect(value.queue.items).toEqual([])
  expect((await rig.store.load(session))!.beside).toEqual([])

  // The same request again is answered as before, or, where it failed, it now succeeds.
  const again = await codeOf(rig.runs.start(rig.profile, { session, text: 'Hello', key: 'key-1', bodyHash: 'hash-1' }))
  expect(again).toBe('none')
  await settle()
  for (const turn of puppet.turns.filter(({ over }) => !over)) {
    turn.emit({ type: 'text', delta: 'Late.' })
    turn.end({ outcome: 'completed' })
  }
  await rig.until(() => rig.runs.live().length === 0, 1000)
  expect(of(await rig.events(session), 'turn.admitted').filter(({ text }) => text === 'Hello')).toHaveLength(1)
  expect((await rig.store.check()).ok).toBe(true)
}

test.each(['failed', 'full'] as const)('a store fault (%s) at each append of a turn with everything in it: success or error, never half', async (kind) => {
  const refused = new Set<string>()
  for (let n = 0; ; n++) {
    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    let appends = 0
    rig.model.fault = () => (++appends === n ? kind : undefined)
    const answers = await play(rig, puppet, session)
    const faulted = n > 0 && appends >= n
    await holds(rig, puppet, session, answers, faulted).catch((error: unknown) => {
      throw new Error(`append ${n}: ${JSON.stringify(answers)}`, { cause: error })
    })
    if (n === 0) expect(Object.values(answers)).toEqual(Array(10).fill('none'))
    for (const [verb, code] of Object.entries(answers)) if (code === `store_${kind}`) refused.add(verb)
    if (n > 0 && !faulted) {
      // Each of them has met the fault itself at some n.
      expect([...refused].sort()).toEqual(Object.keys(answers).sort())
      return
    }
  }
})

/** What runs ask of the store; the log and the list are read by the test alone. */
const VERBS: readonly (keyof Store)[] = ['append', 'load', 'run', 'unsettled', 'queued', 'markRead', 'receipt', 'context', 'processes', 'noteProcess', 'forgetProcess']

test('a store fault at each call of any verb, reading too: success or error, never half', async () => {
  for (let n = 0; ; n++) {
    let calls = 0
    let met = ''
    let armed = false
    const model = new ModelStore({ after: (ms, then) => void timers.after(ms, then) })
    const timers = new FakeTimers()
    const store = new Proxy<Store>(model, {
      get: (_, name: keyof Store) => {
        const verb: unknown = model[name as keyof ModelStore]
        if (typeof verb !== 'function') return verb
        return (...args: unknown[]) => {
          if (!armed || !VERBS.includes(name) || ++calls !== n) return (verb as (...args: unknown[]) => unknown).apply(model, args)
          met = name
          return Promise.reject(new StoreFault('failed', 'the disk failed'))
        }
      },
    })
    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet }, store, timers })
    const session = await rig.chat()
    armed = true
    const answers = await play(rig, puppet, session)
    armed = false
    await holds(rig, puppet, session, answers, met !== '').catch((error: unknown) => {
      throw new Error(`call ${n}, ${met}: ${JSON.stringify(answers)}`, { cause: error })
    })
    if (n > 0 && met === '') break
  }
})

/** Runs the turn over SQLite whose driver fails at some calls; answers how many calls there were. */
async function overDriver(fault: (n: number) => DriverFault | undefined, label: string): Promise<number> {
  const folder = freshFolder('faults')
  const timers = new FakeTimers()
  const plan: DriverPlan = { calls: 0, fault: () => undefined }
  const opened = { folder, clock: timers.now, timers: { set: (run: () => void, ms: number) => timers.after(ms, run), clear: (timer: unknown) => (timer as () => void)() } }
  const store = await openTestStore({ ...opened, start: startFaulty(plan) })
  try {
    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet }, store, timers })
    const session = await rig.chat()
    let met = false
    plan.calls = 0
    plan.fault = (n) => {
      const kind = fault(n)
      met ||= kind !== undefined
      return kind
    }
    const answers = await play(rig, puppet, session)
    const { calls } = plan
    plan.fault = () => undefined
    try {
      await holds(rig, puppet, session, answers, met)
      const before = [await store.window(session, { limit: 1000 }), await store.list({ profile: 'default', limit: 5 }), await store.head()]
      await rig.runs.drain()
      await store.close()
      const again = await openTestStore({ ...opened, start: startInline })
      expect([await again.window(session, { limit: 1000 }), await again.list({ profile: 'default', limit: 5 }), await again.head()]).toEqual(before)
      await again.close()
    } catch (error) {
      throw new Error(`${label}: ${JSON.stringify(answers)}`, { cause: error })
    }
    return calls
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a fault of the disk at each call of the driver, alone or with the next one too: success or error, never half, and the file opens as what was shown', async () => {
  const total = await overDriver(() => undefined, 'no fault')
  expect(total).toBeGreaterThan(200)
  for (let n = 1; n <= total; n++) {
    const kind: DriverFault = n % 2 ? 'full' : 'failed'
    await overDriver((call) => (call === n || (n % 3 === 0 && call === n + 1) ? kind : undefined), `call ${n}, ${kind}${n % 3 === 0 ? ', and the next' : ''}`)
  }
})
