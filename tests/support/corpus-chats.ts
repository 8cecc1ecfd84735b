import type { Event } from '../../server/contract/events'
import type { ImportBatch } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import { settle } from './fake-timers'
import { Puppet, request } from './puppet'
import { Remembering } from './remembering'
import { runsRig, type RunsRigOptions } from './runs-rig'

type Rig = ReturnType<typeof runsRig>
export interface PlayedChat { name: string; events: Event[]; /** What imports brought, by their `seq`. */ imports: ReadonlyMap<number, ImportBatch> }

/**
 * Chats that real runs have with the scripted agent and with a puppet, so that between them every event of this version is written as a server writes it. What they leave is recorded once
 * a schema (`RECORD=<folder>` with `tests/model/corpus.test.ts`), and played by that test whenever it runs.
 */
export async function playChats(): Promise<PlayedChat[]> {
  const played: PlayedChat[] = []
  for (const [name, chat] of Object.entries(CHATS)) {
    const events: Event[] = []
    const imports = new Map<number, ImportBatch>()
    const rigOf = (options: RunsRigOptions = {}): Rig => {
      const rig = runsRig(options)
      rig.store.onCommit((batch) => events.push(...batch.flatMap((entry) => entry.events)))
      const { append } = rig.store
      rig.store.append = (entry) => {
        if (entry.imported) imports.set(entry.events.find(({ type }) => type === 'rows.imported')!.seq, entry.imported)
        return append.call(rig.store, entry)
      }
      return rig
    }
    await chat(rigOf)
    played.push({ name, events, imports })
  }
  return played
}

type Play = (rigOf: (options?: RunsRigOptions) => Rig) => Promise<void>

const asks = (rig: Rig, session: string, count = 1) => rig.until(async () => openQuestions(await rig.transcript(session)).length === count)
const idle = (rig: Rig) => rig.until(() => rig.runs.live().length === 0, 200)

function openQuestions(value: Transcript): string[] {
  return [...value.rows.values()].flatMap((row) => {
    if (row.kind !== 'tool' && row.kind !== 'question') return []
    const asked = row.kind === 'question' ? [row.approval, row.clarify, row.secret] : [row.approval]
    return asked.flatMap((question) => (question?.state === 'open' ? [question.id] : []))
  })
}

const CHATS: Record<string, Play> = {
  async queue(rigOf) {
    const rig = rigOf()
    const { runs, profile } = rig
    const session = await rig.chat()
    const first = await rig.send(session, '[[say:Working on it.]] [[ask:make]] [[say:Made.]]')
    await asks(rig, session)
    const items: string[] = []
    for (const text of ['[[say:one]]', '[[say:two]]', '[[say:three]]', '[[say:four]]', '[[say:never]]']) items.push((await runs.enqueue(profile, { session, text })).item)
    await runs.changeQueued(profile, { session, item: items[1]!, text: '[[say:second]]' })
    await runs.moveQueued(profile, { session, item: items[3]!, before: items[0]! })
    await runs.combineQueued(profile, { session, items: [items[1]!, items[2]!] })
    await runs.removeQueued(profile, { session, items: [items[4]!] })
    await runs.decide(profile, { session, choice: 'once' })
    await rig.settled(first)
    await rig.until(async () => (await rig.transcript(session)).queue.items.length === 0 && runs.live().length === 0, 100)
    // Paused by a stop, and one of it sent by hand, which stops what runs then.
    const stopped = await rig.send(session, '[[say:Half]] [[silence]]')
    await rig.until(async () => (await rig.answer(session)).includes('Half'))
    const waits = (await runs.enqueue(profile, { session, text: '[[say:waits]]' })).item
    const goes = (await runs.enqueue(profile, { session, text: '[[say:goes]]' })).item
    await runs.sendQueued(profile, { session, item: goes, stop: true })
    await rig.settled(stopped)
    await rig.until(async () => (await rig.transcript(session)).queue.items.every(({ id }) => id !== waits) && runs.live().length === 0, 100)
  },

  async words(rigOf) {
    const puppet = new Puppet()
    const rig = rigOf({ agents: { scripted: puppet } })
    const { runs, profile, timers } = rig
    const session = await rig.chat()
    await rig.send(session, 'Build it')
    await timers.advance(10)
    puppet.turn.emit({ type: 'turn.bound', foreign: 'their-run-1', counters: { input: 10, output: 20 } })
    puppet.turn.emit({ type: 'session.bound', foreign: 'their-session', why: 'rotated' })
    puppet.turn.emit({ type: 'plan', entries: [{ text: 'Look', state: 'active', priority: 'high' }, { text: 'Build', state: 'pending' }] })
    puppet.turn.emit({ type: 'text', delta: 'I look.' })
    puppet.turn.emit({ type: 'tool.started', call: 'c1', name: 'shell', verb: 'run', target: 'make' })
    puppet.turn.emit({ type: 'tool.changed', call: 'c1', change: { title: 'Make all', output: 'cc -c a.c\n' } })
    puppet.turn.emit({ type: 'tool.closed', call: 'c1', state: 'done', exit: 0, result: 'made' })
    await timers.advance(40)
    await runs.steer(profile, { session, text: 'Also the tests' })
    puppet.turn.emit({ type: 'steer.delivered', steer: puppet.turn.steers[0]!.steer, evidence: 'seen' })
    puppet.turn.emit({ type: 'plan', entries: [{ text: 'Look', state: 'done' }, { text: 'Build', state: 'active' }, { text: 'Test', state: 'pending' }] })
    await timers.advance(40)
    await runs.steer(profile, { session, text: 'And the docs' })
    puppet.turn.emit({ type: 'usage', usage: { input: 100, output: 50, cached: 3 } })
    puppet.turn.end({ outcome: 'completed' })
    // What came too late is the next message.
    await rig.until(() => puppet.turns.length === 2)
    puppet.turn.emit({ type: 'text', delta: 'The docs too.' })
    await timers.advance(40)
    await runs.steer(profile, { session, text: 'Never mind' })
    await runs.stop(profile, puppet.turn.input.run, 'person')
    await idle(rig)
    // A turn that nobody submitted.
    puppet.session.emit({ type: 'turn.began', text: 'The build is green', source: 'agent' })
    await timers.advance(40)
    puppet.session.emit({ type: 'text', delta: 'It went through.' })
    await timers.advance(40)
    puppet.session.emit({ type: 'turn.ended', end: { outcome: 'completed' } })
    await idle(rig)
  },

  async questions(rigOf) {
    const rig = rigOf()
    const { runs, profile, timers } = rig
    const session = await rig.chat()
    let started = await rig.send(session, '[[ask:{"command":"make","choices":["once","session","always","deny"],"ms":60000}]] [[clarify:Which colour? | red | blue]] [[sudo:To install it]] [[secret:API_KEY For the service]] [[say:Thank you.]]')
    await asks(rig, session)
    await runs.decide(profile, { session, choice: 'session' })
    await asks(rig, session)
    await runs.answer(profile, { session, text: 'a dark green' })
    await asks(rig, session)
    await runs.give(profile, { session, secret: openQuestions(await rig.transcript(session))[0]!, value: 'not to be found' })
    await timers.advance(100)
    await asks(rig, session)
    await runs.give(profile, { session, secret: openQuestions(await rig.transcript(session))[0]!, value: null })
    await rig.settled(started)
    started = await rig.send(session, '[[clarify:{"question":"Nobody answers this?","choices":["yes"],"ms":3000}]] [[say:Then not.]]')
    await rig.settled(started)
    started = await rig.send(session, '[[clarify:And this? | yes]] [[say:Never said.]]')
    await asks(rig, session)
    await runs.stop(profile, started.run, 'person')
    await rig.settled(started)
    started = await rig.send(session, '[[secret:TOKEN For later]]')
    await asks(rig, session)
    await runs.stop(profile, started.run, 'person')
    await rig.settled(started)
    await runs.approveAll(profile, session, true)
    await rig.settled(await rig.send(session, '[[ask:make install]] [[say:Without asking.]]'))
    await runs.approveAll(profile, session, false)
    // Without ids the newer question waits for the older one, which nobody can be sure to answer any more.
    started = await rig.send(session, '[[nameless:ls || pwd]] [[say:One after the other.]]')
    await asks(rig, session)
    await rig.settled(started)
  },

  async reattached(rigOf) {
    const puppet = new Puppet()
    const rig = rigOf({ agents: { scripted: puppet } })
    const { profile, timers } = rig
    const session = await rig.chat()
    await rig.send(session, 'Go on whatever happens')
    await timers.advance(10)
    puppet.turn.emit({ type: 'turn.bound', foreign: 'their-run', counters: { output: 1 } })
    puppet.turn.emit({ type: 'text', delta: 'The beginning ' })
    puppet.turn.emit({ type: 'tool.started', call: 'c1', name: 'shell', verb: 'run', target: 'make' })
    puppet.turn.emit({ type: 'question.raised', question: 'q1', call: 'c1', foreign: 'their-question', request: request('make') })
    await timers.advance(40)
    // Our process ends, the agent's does not; then once more, and its words are others than we had.
    const disk = rig.model.crash()
    puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'The beginning ', open: ['c1'] })
    const second = rigOf({ agents: { scripted: puppet }, disk, timers, seed: 2 })
    await second.runs.recover()
    await timers.advance(40)
    puppet.turn.emit({ type: 'question.raised', question: 'q1', call: 'c1', foreign: 'their-question', request: request('make') })
    await timers.advance(40)
    await second.runs.decide(profile, { session, choice: 'once' })
    puppet.turn.emit({ type: 'tool.closed', call: 'c1', state: 'done', output: 'made' })
    puppet.turn.emit({ type: 'segment' })
    puppet.turn.emit({ type: 'text', delta: 'The middle, ' })
    await timers.advance(40)
    const later = second.model.crash()
    puppet.onReattach = async (opening, binding, sink) => puppet.runOn(opening, binding, sink, { message: 'The middle as it is, ', open: [] })
    const third = rigOf({ agents: { scripted: puppet }, disk: later, timers, seed: 3 })
    await third.runs.recover()
    await timers.advance(40)
    puppet.turn.emit({ type: 'text', delta: 'and the end.' })
    await timers.advance(40)
    puppet.turn.end({ outcome: 'completed', usage: { output: 9 } })
    await idle(third)
  },

  async echoed(rigOf) {
    const puppet = new Puppet()
    puppet.echoes = true
    const rig = rigOf({ agents: { scripted: puppet } })
    const session = await rig.chat()
    await rig.send(session, 'Think aloud')
    const words = 'This sentence is thought first, and it is long enough to be known again when it is said word for word afterwards. '
    await rig.timers.advance(10)
    puppet.turn.emit({ type: 'reasoning', delta: 'Hm. ' })
    puppet.turn.emit({ type: 'text', delta: words })
    await rig.timers.advance(40)
    puppet.turn.emit({ type: 'reasoning', delta: words })
    await rig.timers.advance(40)
    puppet.turn.emit({ type: 'message', text: words })
    puppet.turn.end({ outcome: 'completed' })
    await idle(rig)
  },

  async elsewhere(rigOf) {
    const agent = new Remembering()
    const rig = rigOf({ agents: { scripted: agent } })
    const { runs, profile } = rig
    const session = await rig.chat()
    const exchange = async (text: string, answer: string, more: { replaceFrom?: string } = {}) => {
      const before = agent.turns.length
      const started = await runs.start(profile, { session, text, ...more })
      await rig.until(() => agent.turns.length > before)
      agent.say(answer)
      await rig.settled(started)
    }
    const rowOf = async (text: string) => [...(await rig.transcript(session)).rows.values()].find((row) => row.text === text)!.id
    await exchange('Asked here', 'Answered here.')
    agent.write(agent.foreign, { role: 'user', text: 'Typed in a terminal' })
    agent.write(agent.foreign, { role: 'assistant', text: 'I look.', reasoning: 'Where is it?', calls: [{ call: 'c1', name: 'terminal', verb: 'run', target: 'ls', args: { command: 'ls' } }] })
    agent.write(agent.foreign, { role: 'tool', call: 'c1', state: 'done', result: 'a.md' })
    agent.write(agent.foreign, { role: 'assistant', text: 'Answered there.', calls: [] })
    await exchange('And on', 'So on.')
    await exchange('And on, please', 'So on, then.', { replaceFrom: await rowOf('And on') })
    // A session that the agent has lost is made anew.
    agent.store.delete(agent.foreign)
    await exchange('Do you know it still?', 'Yes.')
  },

  async ends(rigOf) {
    const rig = rigOf()
    const { runs, profile } = rig
    const session = await rig.chat()
    let started = await rig.send(session, '[[reason:Hm.]] [[say:Half an ans]] [[error:rate_limit slow down]]')
    await rig.settled(started)
    await rig.settled(await runs.start(profile, { session, retry: started.turn }))
    await rig.settled(await rig.send(session, '[[say:As much as I may.]] [[limit:no more calls]]'))
    await rig.settled(await rig.send(session, '[[nothing]]'))
    started = await rig.send(session, '[[tool:shell {"open":true,"verb":"run","target":"sleep"}]] [[say:Until it is stopped]] [[silence]]')
    await rig.until(async () => (await rig.answer(session)).includes('stopped'))
    await runs.stop(profile, started.run, 'person')
    await rig.settled(started)
    await runs.rename(profile, session, 'Renamed')
    await runs.update(profile, session, { model: { provider: 'scripted', id: 'scripted' } })
    await settle()
  },

  async deleted(rigOf) {
    const rig = rigOf()
    const session = await rig.chat()
    await rig.send(session, '[[say:Soon gone]] [[silence]]')
    await rig.until(async () => (await rig.answer(session)).includes('gone'))
    await rig.runs.remove(rig.profile, session)
    await idle(rig)
  },
}
