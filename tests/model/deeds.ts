import type { AgentEvent } from '../../server/agents/port'
import { questionOf } from '../../server/contract/apply-questions'
import type { ChoiceKind } from '../../server/contract/approvals'
import type { QueueItem } from '../../server/contract/queue'
import { lastRunOf } from '../../server/runs/settle'
import { settle } from '../support/fake-timers'
import { request } from '../support/puppet'
import type { Life } from './life'
import { seen } from './life'

/** One thing that happens in a life: by its person, its agent, its machine or its network. */
export type Deed = (life: Life) => void | Promise<void>

const KINDS: ChoiceKind[] = ['once', 'session', 'always', 'deny', 'deny_always']
const CHOICES = KINDS.map((kind) => ({ id: `choice-${kind}`, kind }))
/** A question that takes no answer for its word. */
const NONE: AgentEvent = { type: 'reasoning', delta: '' }

/** Everything that can happen, by name; how often each name stands says how often it happens. */
export const DEEDS: Record<string, Deed> = {
  send(life) {
    const key = life.name('key')
    start(life, key, `Message of ${key}`, key)
  },
  'send the same again'(life) {
    const key = keyOf(life)
    if (key) start(life, key, `Message of ${key}`, key)
  },
  'send another with the same key'(life) {
    const key = keyOf(life)
    if (key) life.ask((rig) => rig.runs.start(rig.profile, { session: life.session, text: 'Other', key, bodyHash: 'other' }))
  },
  'try again'(life) {
    const turn = [...life.value.turns.keys()].at(-1)
    if (turn) life.ask((rig) => rig.runs.start(rig.profile, { session: life.session, retry: turn }))
  },
  steer(life) {
    const key = life.under(2) ? { key: life.name('steer'), bodyHash: 'h' } : {}
    let first: string | null = null
    for (let i = 0; i <= life.under(2); i++) {
      life.ask((rig) => rig.runs.steer(rig.profile, { session: life.session, text: 'A word', ...key }), (answer) => {
        if (!answer.accepted) return
        life.told.steered.push(answer)
        if (key.key !== undefined && answer.steer !== (first ??= answer.steer)) throw new Error('one key made two words')
      })
    }
  },
  enqueue(life) {
    const name = life.name('queued')
    const before = itemOf(life)?.id
    const input = { session: life.session, text: name, key: name, bodyHash: 'h', ...(before && life.under(2) ? { before } : {}) }
    let first: string | null = null
    for (let i = 0; i <= life.under(2); i++) {
      life.ask((rig) => rig.runs.enqueue(rig.profile, input), ({ item }) => {
        life.told.queued.add(item)
        if (item !== (first ??= item)) throw new Error('one key made two messages')
      })
    }
  },
  'change what waits'(life) {
    const item = itemOf(life)
    if (item) life.ask((rig) => rig.runs.changeQueued(rig.profile, { session: life.session, item: item.id, text: `${item.text}!` }))
  },
  'move what waits'(life) {
    const [item, before] = [itemOf(life), itemOf(life)]
    if (item) life.ask((rig) => rig.runs.moveQueued(rig.profile, { session: life.session, item: item.id, ...(before && life.under(2) ? { before: before.id } : {}) }))
  },
  'join what waits'(life) {
    const items = [itemOf(life), itemOf(life)].flatMap((item) => item?.id ?? [])
    if (items.length) life.ask((rig) => rig.runs.combineQueued(rig.profile, { session: life.session, items }))
  },
  'remove what waits'(life) {
    const item = itemOf(life)
    if (item) life.ask((rig) => rig.runs.removeQueued(rig.profile, { session: life.session, items: [item.id] }))
  },
  'send what waits'(life) {
    const item = itemOf(life)
    if (item) life.ask((rig) => rig.runs.sendQueued(rig.profile, { session: life.session, item: item.id }))
  },
  'stop and send'(life) {
    const item = itemOf(life)
    if (item) life.ask((rig) => rig.runs.sendQueued(rig.profile, { session: life.session, item: item.id, stop: true }))
  },
  decide(life) {
    const asked = questionsOf(life).find((each) => 'command' in each && life.under(2) === 0)
    if (!asked || !('command' in asked)) return
    const choice = life.one(CHOICES)
    life.gives(asked.command!, choice.id)
    life.ask((rig) => rig.runs.decide(rig.profile, { session: life.session, approval: asked.id, choice: life.under(2) ? choice.id : choice.kind }))
  },
  'decide the oldest'(life) {
    const choice = life.one(CHOICES)
    // Whichever it is when the request comes: all that are open may get it, also one that is about to be shown.
    givesAll(life, choice.id)
    life.ask((rig) => rig.runs.decide(rig.profile, { session: life.session, choice: choice.kind }))
  },
  answer(life) {
    const asked = questionsOf(life).find((each) => 'question' in each)
    if (!asked || !('question' in asked)) return
    const text = life.name('words')
    life.gives(asked.question, text)
    life.ask((rig) => rig.runs.answer(rig.profile, { session: life.session, clarify: asked.id, text }))
  },
  'give a secret'(life) {
    const asked = questionsOf(life).find((each) => 'prompt' in each)
    if (!asked || !('prompt' in asked)) return
    const value = life.under(3) ? `s3cret-${life.name('value')}` : null
    if (value) life.told.secrets.push(value)
    life.gives(asked.prompt, value ?? 'refused')
    life.ask((rig) => rig.runs.give(rig.profile, { session: life.session, secret: asked.id, value }))
  },
  'answer by itself'(life) {
    const on = life.under(3) > 0
    // The switch answers what is open.
    if (on) givesAll(life, 'choice-once')
    life.ask((rig) => rig.runs.approveAll(rig.profile, life.session, on))
  },
  stop(life) {
    const run = life.rig?.runs.live()[0]?.run
    if (run) life.ask((rig) => rig.runs.stop(rig.profile, run, 'person'), ({ cancelled }) => void (cancelled && life.told.stopped.add(run)))
  },
  'stop while re-attaching'(life) {
    // Whoever has not heard yet that it goes on means it by the id that it had.
    const last = lastRunOf(life.value)
    const run = last?.cause === 'reattached' && last.state === 'running' ? life.value.turns.get(last.turn)!.runs.at(-2) : last
    if (run?.outcome !== 'interrupted' || run.problem?.code !== 'server_restarted') return
    life.ask((rig) => rig.runs.stop(rig.profile, run.id, 'person'), ({ cancelled }) => void (cancelled && life.told.held.add(run.id)))
  },
  'restart, and stop at once': async (life) => {
    await atWork(life)
    await life.start(true)
    if (life.under(2)) await settle()
    await DEEDS['stop while re-attaching']!(life)
  },
  'a word, and a restart': async (life) => {
    await atWork(life)
    await DEEDS.steer!(life)
    if (life.under(4)) await settle()
    life.kill()
    // Heard while nobody listens.
    if (life.under(2)) life.mind.useSteer()
    if (life.under(4) === 0) life.mind.finish({ outcome: 'completed' })
    await life.start(true)
  },
  rename: (life) => life.ask((rig) => rig.runs.rename(rig.profile, life.session, life.name('Name '))),
  text: (life) => life.say({ type: 'text', delta: life.one([`${life.name('w')} `, `${life.name('w')} `, 'a\u{1F680}', 'e\u0301', '', 'more text '.repeat(life.under(5))]) }),
  'half a character'(life) {
    // An agent that tells its message anew tells whole characters.
    if (!life.binds) life.say({ type: 'text', delta: life.one(['\uD83D', '\uDE80']) })
  },
  thought: (life) => life.say({ type: 'reasoning', delta: 'hm ' }),
  message(life) {
    const text = life.mind.turn?.message ?? ''
    // Agents repeat whole characters.
    const repeats = text.trim() !== '' && !/\p{Surrogate}/u.test(text) && life.under(2) === 0
    life.say(repeats ? { type: 'message', text } : { type: 'segment' })
  },
  tool: (life) => life.say({ type: 'tool.started', call: life.name('call'), name: 't', verb: 'other', ...parentOf(life) }),
  'end of a tool': (life) => life.say({ type: 'tool.closed', call: callOf(life) ?? 'none', state: life.one(['done', 'failed', 'cancelled', 'denied', 'unknown'] as const) }),
  'ask whether': (life) => ask(life, {}),
  'ask without a name': (life) => ask(life, { nameless: true }),
  'ask what'(life) {
    const question = life.name('clarify')
    life.say({ type: 'clarify.raised', question, foreign: `f-${question}`, request: { question, choices: ['a', 'b'], free: true, ...deadline(life) } })
  },
  'ask for a secret'(life) {
    const question = life.name('secret')
    life.say({ type: 'secret.raised', question, request: { kind: 'secret', prompt: question, ...deadline(life) } })
  },
  'take a question back'(life) {
    const question = [...life.mind.asked.keys()].at(-1)
    if (question) life.say({ type: 'question.withdrawn', question, why: life.one(['expired', 'withdrawn'] as const) })
  },
  'plan, usage, notice': (life) => life.say(life.one<AgentEvent>([
    { type: 'plan', entries: [{ text: life.name('step'), state: 'active' }] }, { type: 'usage', usage: { input: life.under(100) } }, { type: 'notice', code: 'something' },
    { type: 'title', text: life.name('Title ') }, { type: 'context', messages: [{ n: life.under(99) }] }, NONE,
  ])),
  'use a word': (life) => life.mind.useSteer(),
  'a turn by itself': (life) => life.mind.begin(life.name('By myself ')),
  'end of the turn': (life) => life.mind.finish({ outcome: life.one(['completed', 'completed', 'completed', 'failed', 'interrupted'] as const) }),
  'death of the agent'(life) {
    life.harm()
    life.mind.crash()
  },
  silence: (life) => life.timers.advance(700_000),
  'a moment': (life) => life.timers.advance(life.one([1, 20, 50])),
  'some seconds': (life) => life.timers.advance(life.one([2000, 16_000, 70_000])),
  'the clock is set': (life) => life.timers.jump(life.one([-3_600_000, -5000, 5000, 3_600_000])),
  'the store stalls': (life) => life.rig?.model.hold(),
  'the store goes on': (life) => life.rig?.model.release(),
  'the store fails'(life) {
    life.harm()
    life.faulty = true
    life.rig?.model.failAppend(1 + life.under(2), life.one(['failed', 'full'] as const))
  },
  kill: (life) => life.kill(),
  'restart with the agent': (life) => life.start(true),
  'restart without the agent': (life) => life.start(false),
  'orderly end'(life) {
    seen.crashes++
    return life.drain()
  },
  'the reader is lost': (life) => life.lose(),
  'the reader comes back': (life) => life.catchUp(),
  'a late append': (life) => life.late(),
}

/** How often each happens, where not twice in about two hundred. */
export const OFTEN: Record<string, number> = {
  send: 10, steer: 8, enqueue: 10, text: 24, tool: 6, 'end of a tool': 4, 'ask whether': 6, 'ask what': 5, 'ask for a secret': 5, decide: 10, answer: 10, 'give a secret': 10, 'end of the turn': 12,
  'a moment': 12, 'use a word': 4, 'the store goes on': 6, 'the reader comes back': 4, 'restart with the agent': 3, thought: 3, message: 3, stop: 4, 'stop while re-attaching': 3, 'restart, and stop at once': 2, 'a word, and a restart': 2, 'stop and send': 4, 'a turn by itself': 6,
  'restart without the agent': 1, kill: 1, 'orderly end': 1, silence: 1, 'some seconds': 3, 'the store fails': 1, 'death of the agent': 1, 'take a question back': 1,
}

/** A turn plays, if that can be. */
async function atWork(life: Life): Promise<void> {
  if (!life.rig) await life.start(true)
  if (life.mind.live) return
  await DEEDS.send!(life)
  await settle()
}

function start(life: Life, key: string, text: string, bodyHash: string): void {
  life.ask((rig) => rig.runs.start(rig.profile, { session: life.session, text, key, bodyHash }), (started) => {
    const before = life.told.started.get(key)
    if (before && JSON.stringify(before) !== JSON.stringify(started)) throw new Error('the same key was answered something else')
    life.told.started.set(key, started)
  })
}

function ask(life: Life, more: { nameless?: true }): void {
  const question = life.name('approval')
  const call = life.under(2) ? callOf(life) : undefined
  life.say({
    type: 'question.raised', question, ...(more.nameless ? {} : { foreign: `f-${question}` }), ...(call === undefined ? {} : { call }), ...more,
    request: { ...request(question), choices: life.under(4) ? CHOICES : CHOICES.slice(1), ...deadline(life) },
  })
}

function givesAll(life: Life, choice: string): void {
  for (const [question, { event, open }] of life.mind.asked) if (open && event.type === 'question.raised') life.gives(question, choice)
}

function deadline(life: Life): { deadline?: number } {
  return life.under(2) ? { deadline: life.timers.now() + life.one([30, 60_000, 60_000, 600_000]) } : {}
}

function keyOf(life: Life): string | undefined {
  const keys = [...life.told.started.keys()]
  return keys.length ? life.one(keys) : undefined
}

function itemOf(life: Life): QueueItem | undefined {
  const { items } = life.value.queue
  return items.length ? life.one(items) : undefined
}

function callOf(life: Life): string | undefined {
  const open = life.mind.turn?.open ?? []
  return open.length ? life.one(open) : undefined
}

function parentOf(life: Life): { parent: string } | undefined {
  const parent = life.under(3) === 0 ? callOf(life) : undefined
  return parent === undefined ? undefined : { parent }
}

/** What is asked and open, as the transcript shows it. */
function questionsOf(life: Life) {
  return [...life.value.rows.values()].flatMap((row) => {
    const asked = questionOf(row)
    return asked?.state === 'open' ? [asked] : []
  })
}
