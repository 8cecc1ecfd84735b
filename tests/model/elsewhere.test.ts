import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Transcript } from '../../server/contract/session'
import { FakeTimers } from '../support/fake-timers'
import { checkInvariants } from '../support/invariants'
import { LogChecker } from '../support/log-checker'
import type { ModelDisk } from '../support/model-disk'
import { Remembering } from '../support/remembering'
import { runsRig } from '../support/runs-rig'

const LIVES = Number(process.env.LIVES ?? 300)
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/** What happens next to a chat whose agent keeps its own history; `n` chooses. */
type Deed = { do: 'ask' | 'askTool' | 'fail' | 'edit' | 'retry' | 'elsewhere' | 'marker' | 'during' | 'crash' | 'crashWhole' | 'compact' | 'lose' | 'shut' | 'stubborn' | 'rename'; n: number }
const DEEDS: Deed['do'][] = ['ask', 'ask', 'ask', 'askTool', 'fail', 'edit', 'edit', 'retry', 'elsewhere', 'elsewhere', 'marker', 'during', 'crash', 'crashWhole', 'compact', 'lose', 'shut', 'stubborn', 'rename']
const deed: fc.Arbitrary<Deed> = fc.record({ do: fc.constantFrom(...DEEDS), n: fc.nat(63) })

/** One chat, with everything that was said anywhere and has not been taken back. */
class Life {
  readonly agent = new Remembering()
  readonly timers = new FakeTimers()
  rig = this.#open()
  session = ''
  /** Words that were taken back: nobody is to see them again. */
  readonly gone = new Set<string>()
  /** Words of another program that the next turn is to bring here. */
  owed = new Set<string>()
  #unmatched = new Set<string>()
  #words = 0
  #seeds = 1

  #open(disk?: ModelDisk): ReturnType<typeof runsRig> {
    return runsRig({ agents: { scripted: this.agent }, timers: this.timers, ...(disk ? { disk, seed: ++this.#seeds } : {}) })
  }

  async begin(): Promise<void> {
    this.session = await this.rig.chat()
  }

  word(kind: string): string {
    return `${kind} ${++this.#words}`
  }

  whole(): Promise<Transcript> {
    return this.rig.transcript(this.session)
  }

  async texts(...kinds: string[]): Promise<{ id: string; text: string; turn: string }[]> {
    const value = await this.whole()
    return value.order.map((id) => value.rows.get(id)!).filter(({ kind }) => kinds.includes(kind)).map(({ id, text, turn }) => ({ id, text, turn }))
  }

  /** Starts a turn and answers whether it reached the agent. */
  async start(input: { text?: string; retry?: string; replaceFrom?: string }): Promise<{ turn: string; run: string; session: string } | null> {
    const before = this.agent.turns.length
    const started = await this.rig.runs.start(this.rig.profile, { session: this.session, ...input })
    await this.rig.until(async () => this.agent.turns.length > before || (await this.rig.runOf(started)).state === 'settled')
    if (this.agent.turns.length === before) return null
    await this.settleDebts()
    // What its model is shown holds nothing that was taken back, and nothing twice.
    const seen = this.agent.seen.at(-1)!.filter((words) => words !== '')
    for (const words of seen) if (this.gone.has(words)) throw new Error(`the agent sees "${words}", which was taken back`)
    if (new Set(seen).size !== seen.length) throw new Error(`the agent sees something twice: ${JSON.stringify(seen)}`)
    return started
  }

  async end(started: { turn: string; run: string; session: string } | null): Promise<void> {
    if (started) await this.rig.until(async () => (await this.rig.runOf(started)).state === 'settled' && this.rig.runs.live().length === 0)
  }

  async crash(): Promise<void> {
    this.rig = this.#open(this.rig.model.crash())
    await this.rig.runs.recover()
    await this.rig.until(() => this.rig.runs.live().length === 0)
  }

  /** Once a turn is with the agent, all that was written elsewhere before it stands here, unless the chat says that it could not be told apart. */
  async settleDebts(): Promise<void> {
    const value = await this.whole()
    const unmatched = [...value.rows.values()].filter((row) => row.kind === 'divider' && row.divider.code === 'agent_unmatched').map(({ id }) => id)
    const said = unmatched.some((id) => !this.#unmatched.has(id))
    this.#unmatched = new Set(unmatched)
    const stands = new Set([...value.rows.values()].map(({ text }) => text))
    if (!said) for (const words of this.owed) if (!stands.has(words)) throw new Error(`"${words}" was written elsewhere and is lost`)
    this.owed = new Set()
  }

  /** Another program writes, and it is to be found here after the next turn. */
  elsewhere(role: 'user' | 'assistant', text: string): void {
    this.agent.write(this.agent.foreign, role === 'user' ? { role, text } : { role, text, calls: [] })
    this.owed.add(text)
  }

  async bury(from: string): Promise<void> {
    const value = await this.whole()
    const pos = value.rows.get(from)!.pos
    for (const row of value.rows.values()) if (row.pos >= pos && row.text !== '') this.gone.add(row.text)
  }

  /** Everything that stands is sound, and each word stands once. */
  async check(): Promise<void> {
    const value = await this.whole()
    expect(checkInvariants(value)).toEqual([])
    const log = new LogChecker()
    log.take(await this.rig.events(this.session))
    const texts = (await this.texts('user', 'answer')).map(({ text }) => text).filter((text) => text !== '')
    if (new Set(texts).size !== texts.length) throw new Error(`something stands twice: ${JSON.stringify(texts)}`)
    for (const text of texts) if (this.gone.has(text)) throw new Error(`"${text}" came back`)
    const known = await this.rig.store.foreign(this.session)
    expect(new Set(known.map(({ session, row }) => `${session} ${row}`)).size).toBe(known.length)
  }
}

async function live(life: Life, { do: what, n }: Deed): Promise<void> {
  const { agent } = life
  const stored = agent.store.get(agent.foreign)
  switch (what) {
    case 'ask':
    case 'askTool': {
      const started = await life.start({ text: life.word('ask') })
      if (started && what === 'askTool') agent.uses(life.word('call'), 'done')
      if (started) agent.say(life.word('answer'))
      return life.end(started)
    }
    case 'fail': {
      const started = await life.start({ text: life.word('ask') })
      if (!started) return
      if (n % 2) agent.turn.emit({ type: 'text', delta: life.word('half') })
      agent.turn.end({ outcome: n % 3 ? 'failed' : 'interrupted' })
      return life.end(started)
    }
    case 'edit': {
      const { turns } = await life.whole()
      const asked = (await life.texts('user')).filter(({ turn }) => turns.get(turn)!.source === 'person')
      const row = asked[Math.max(0, asked.length - 1 - (n % 3))]
      if (!row) return
      await life.bury(row.id)
      const started = await life.start({ text: life.word('edited'), replaceFrom: row.id })
      if (started) agent.say(life.word('answer'))
      return life.end(started)
    }
    case 'retry': {
      const value = await life.whole()
      const turn = [...value.turns.values()].sort((a, b) => (a.pos < b.pos ? -1 : 1)).at(-1)
      const run = turn?.runs.at(-1)
      if (!turn || !run || run.outcome === 'completed') return
      for (const row of value.rows.values()) if (row.turn === turn.id && row.id !== turn.row && row.text !== '') life.gone.add(row.text)
      const started = await life.start({ retry: turn.id })
      if (started) agent.say(life.word('answer'))
      return life.end(started)
    }
    case 'elsewhere': {
      if (!stored) return
      life.elsewhere('user', life.word('typed there'))
      for (let i = 0; i <= n % 2; i++) life.elsewhere('assistant', life.word('said there'))
      return
    }
    case 'marker':
      if (stored) agent.write(agent.foreign, { role: 'user', text: life.word('[System]'), synthetic: n % 2 ? 'marker' : 'begins' })
      return
    case 'during': {
      const started = await life.start({ text: life.word('ask') })
      if (!started) return
      const answer = life.word('answer')
      agent.turn.emit({ type: 'text', delta: answer })
      agent.write(agent.foreign, { role: 'assistant', text: answer, calls: [] })
      life.elsewhere('user', life.word('typed there'))
      agent.turn.end({ outcome: 'completed' })
      return life.end(started)
    }
    case 'crash':
    case 'crashWhole': {
      const started = await life.start({ text: life.word('ask') })
      if (!started) return
      const half = life.word('answer')
      const answer = `${half}, and the rest of it`
      if (n % 2) agent.turn.emit({ type: 'text', delta: half })
      await life.timers.advance(100)
      if (what === 'crashWhole') {
        agent.write(agent.foreign, { role: 'assistant', text: answer, calls: [] })
        if (n % 2) life.gone.add(half)
      }
      await life.crash()
      // Until the next turn the half stands.
      life.gone.delete(half)
      return
    }
    case 'compact': {
      if (!stored) return
      const rows = stored.messages.filter(({ gone }) => !gone)
      stored.messages.splice(0)
      const keep = rows.slice(rows.length - (n % 4))
      if (rows.length > 0) agent.write(agent.foreign, { role: 'user', text: life.word('[CONTEXT COMPACTION]'), synthetic: 'marker' })
      for (const { id: _, at: __, gone: ___, ...message } of keep) agent.write(agent.foreign, message)
      // What is not read any more is not brought; neither is an answer without its question.
      life.owed = new Set()
      return
    }
    case 'lose':
      agent.store.delete(agent.foreign)
      life.owed = new Set()
      return
    case 'shut': {
      agent.onRead = () => { throw new Error('shut') }
      const started = await life.start({ text: life.word('ask') })
      if (started) agent.say(life.word('answer'))
      await life.end(started)
      agent.onRead = () => undefined
      return
    }
    case 'stubborn':
      agent.onRewind = n % 3 === 0 ? null : n % 3 === 1 ? () => { throw new Error('no') } : (_row, kept) => { for (const message of kept.messages.slice(-1)) message.gone = true }
      return
    case 'rename':
      agent.renames = n % 2 === 1
      return
  }
}

test(`whatever another program, a crash or the agent's own store does, nothing stands twice, nothing that was taken back comes back, and no turn sees it (${LIVES} lives, seed ${SEED})`, async () => {
  console.log(`elsewhere: ${LIVES} lives, seed ${SEED}`)
  await fc.assert(fc.asyncProperty(fc.array(deed, { minLength: 4, maxLength: 18 }), async (deeds) => {
    const life = new Life()
    await life.begin()
    for (const each of deeds) {
      await live(life, each)
      await life.check()
    }
  }), { numRuns: LIVES, seed: SEED })
})
