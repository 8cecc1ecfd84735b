import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentEvent, Binding, Opening, Reattached, Shown } from '../../../../server/agents/port'
import { makeDetached } from '../../../../server/agents/scripted/detached/client'
import { readLines, writeLine } from '../../../../server/agents/scripted/detached/frames'
import type { Command, Hello, Report } from '../../../../server/agents/scripted/detached/frames'
import { hostScripted } from '../../../../server/agents/scripted/detached/host'
import { readRecord, writeRecord } from '../../../../server/agents/supervise/record'
import type { ProgramRecord } from '../../../../server/agents/supervise/record'
import { Past } from '../../../../server/agents/scripted/detached/past'
import { Tracker } from '../../../../server/agents/scripted/detached/tracker'
import { systemTimers } from '../../../../server/runs/timers'
import { FakeTimers } from '../../../support/fake-timers'

const table = { bootId: async () => 'boot', startTime: async (pid: number) => (pid === process.pid ? '42' : null) }
const profile = { name: 'default', home: '/h', scope: '/h', env: {}, isLaunch: true }
const input = (text: string) => ({ turn: 'trn', run: 'run', text, model: null, retry: false })

async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 10_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`It did not come about: ${what}`)
}

/** The host in this process, which counts how often it would have ended it. */
describe('the detached scripted agent', () => {
  let folder: string
  let clock: FakeTimers
  let ended: number
  let record: ProgramRecord
  const sockets: Socket[] = []

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'talaria-detached-'))
    clock = new FakeTimers()
    ended = 0
    await hostScripted({ folder, timers: clock, table, scale: 0, exit: () => ended++ })
    record = (await readRecord(folder))!
  })
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A server that speaks the protocol by hand, so that it may die at any moment. */
  const server = async (hello: Omit<Hello, 'token'> & Record<string, unknown>, token = record.token) => {
    const socket = connect(record.port, '127.0.0.1')
    sockets.push(socket)
    const reports: Report[] = []
    let closed = false
    readLines(socket, (value) => reports.push(value as Report))
    socket.on('close', () => (closed = true))
    socket.on('error', () => undefined)
    void writeLine(socket, { ...hello, token } as Hello)
    const events = (): AgentEvent[] => reports.flatMap((report) => ('event' in report ? [report.event] : []))
    return {
      reports, events, closed: () => closed, tell: (command: Command) => void writeLine(socket, command), die: () => socket.destroy(),
      bound: () => until('the turn is bound', () => events().flatMap((event) => (event.type === 'turn.bound' ? [event.foreign] : []))[0]),
      text: () => events().flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join(''),
    }
  }
  const open = (session = 'ses') => server({ do: 'open', session, cwd: folder })
  const opening: Opening = { profile, session: 'ses', cwd: '/w', model: null, context: async () => [] }
  const binding = (foreign: string, steers?: string[]): Binding => ({ turn: 'trn', run: 'run', foreign, questions: [], ...(steers ? { steers } : {}) })
  const client = () => makeDetached({ timers: systemTimers(), table, folder, main: '/does/not/exist' })
  const back = async (foreign: string, steers?: string[]) => {
    const events: AgentEvent[] = []
    const found = await client().reattach(opening, binding(foreign, steers), (event) => void events.push(event))
    return { found, events, running: found as Extract<Reattached, { state: 'running' }>, text: () => events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('') }
  }

  /** Lets time pass, and then what it does about that, which looks at its file. */
  const pass = async (ms: number): Promise<void> => {
    for (const step of [ms, 600]) {
      await clock.advance(step)
      await until('it has looked', () => clock.pending > 0 || ended > 0)
    }
  }

  it('leaves its address and token where only this account can read them', () => {
    expect(statSync(join(folder, 'agent.json')).mode & 0o777).toBe(0o600)
    expect(record).toMatchObject({ pid: process.pid, startTime: '42', boot: 'boot' })
    expect(record.token.length).toBeGreaterThan(40)
  })

  it('answers nobody who does not know the token', async () => {
    for (const token of ['', 'x', record.token.slice(0, -1), `${record.token.slice(0, -1)}x`]) {
      const stranger = await server({ do: 'open', session: 'ses', cwd: '/' }, token)
      await until('it is turned away', stranger.closed)
      expect(stranger.reports).toEqual([])
    }
  })

  it('plays on without a server, and gives the turn, its text, its open tool and its question to the next one', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[say:Before. ]][[tool:build {"call":"b","open":true}]][[say:Half ]][[ask:make]][[end:b {"result":"built"}]][[say:done.]]') })
    const foreign = await first.bound()
    const asked = await until('it asks', () => first.events().find((event) => event.type === 'question.raised'))
    first.die()
    const { found, running, events, text } = await back(foreign)
    expect(found).toMatchObject({ state: 'running', message: 'Half ', open: ['b', expect.any(String)] })
    expect(events).toEqual([])
    const again = await until('it asks again', () => events.find((event) => event.type === 'question.raised'))
    expect(again).toEqual(asked)
    expect(again).toMatchObject({ foreign: expect.any(String) })
    expect(await running.session.decide((again as { question: string }).question, 'once')).toEqual({ state: 'delivered' })
    expect(await running.end).toEqual({ outcome: 'completed' })
    expect(text()).toBe('done.')
    expect(events.flatMap((event) => (event.type === 'tool.closed' ? [event.result] : []))).toEqual(['(scripted) make', 'built'])
  })

  it('keeps what ended while no server was there', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[delay:0]][[hear]][[tool:read {"call":"r","result":"Alpha"}]][[say:The whole ]][[say:answer.]]') })
    const foreign = await first.bound()
    first.tell({ do: 'steer', id: 1, steer: 's', text: 'go' })
    first.die()
    const { found } = await until('it has ended', async () => {
      const came = await back(foreign)
      if (came.found.state === 'running') await came.running.session.steer!('t', 'go')
      return came.found.state === 'running' ? null : came
    })
    expect(found).toEqual({ state: 'ended', end: { outcome: 'completed' }, message: 'The whole answer.', closed: [{ call: 'r', state: 'done', result: 'Alpha' }], used: [] })
  })

  it('says which words it has, which it used while no server was there, and uses the others as usual', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[hear]][[steers:never]][[say:Heard. ]][[clarify:Go on? | yes]][[steers:any]][[say:Over.]]') })
    const foreign = await first.bound()
    first.tell({ do: 'steer', id: 1, steer: 'one', text: 'used' })
    await until('it has heard one', () => first.text().includes('Heard.'))
    first.tell({ do: 'steer', id: 2, steer: 'two', text: 'later' })
    await until('it has both', () => first.reports.filter((report) => 're' in report).length === 2)
    first.die()
    const { found, running, events } = await back(foreign, ['one', 'two', 'lost'])
    expect(found).toMatchObject({ state: 'running', taken: ['one', 'two'] })
    const used = (): string[] => events.flatMap((event) => (event.type === 'steer.delivered' ? [event.steer] : []))
    await until('it tells of the one', () => used().length > 0)
    expect(used()[0]).toBe('one')
    const asked = await until('it asks', () => events.find((event) => event.type === 'clarify.raised'))
    await running.session.answer!((asked as { question: string }).question, 'yes')
    expect(await running.end).toEqual({ outcome: 'completed' })
    expect(used()).toEqual(['one', 'two'])
  })

  it('says which words it used in a turn that has ended; the others are with the person', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[hear]][[steers:never]][[say:Heard. ]][[delay:0]][[say:Over.]]') })
    const foreign = await first.bound()
    first.tell({ do: 'steer', id: 1, steer: 'one', text: 'used' })
    await until('it has ended', () => first.reports.some((report) => 'end' in report))
    first.die()
    expect((await back(foreign, ['one', 'lost'])).found).toMatchObject({ state: 'ended', used: ['one'] })
  })

  it('never asks for a secret again: it counts as not given', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[sudo:To install]][[say:Over.]]') })
    const foreign = await first.bound()
    await until('it asks', () => first.events().some((event) => event.type === 'secret.raised'))
    first.die()
    const { running, events, text } = await back(foreign)
    expect(await running.end).toEqual({ outcome: 'completed' })
    expect(events.some((event) => event.type === 'secret.raised')).toBe(false)
    expect(text()).toBe('(secret not given) Over.')
  })

  it('knows no turn of another foreign id, chat or process', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[silence]]') })
    const foreign = await first.bound()
    first.die()
    expect((await back('turn_of_somebody')).found).toEqual({ state: 'gone' })
    expect(await client().reattach({ ...opening, session: 'other' }, binding(foreign), () => undefined)).toEqual({ state: 'gone' })
    expect((await back(foreign)).found.state).toBe('running')
  })

  it('ends turns that a server which has come back does not take up', async () => {
    const [kept, lost] = [await open('kept'), await open('lost')]
    for (const each of [kept, lost]) each.tell({ do: 'turn', input: input('[[silence]]') })
    const foreign = await lost.bound()
    await kept.bound()
    lost.die()
    await until('it has noticed', () => lost.closed())
    const adopter = await server({ do: 'adopt' })
    await until('it is adopted', () => adopter.reports.length > 0)
    await pass(61_000)
    const gone = await server({ do: 'reattach', session: 'lost', foreign })
    await until('it answers', () => gone.reports.length > 0)
    expect(gone.reports).toEqual([{ found: { state: 'gone' } }])
    expect(kept.closed()).toBe(false)
  })

  it('ends with the server when nothing plays, and stays while something does', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[silence]]') })
    await first.bound()
    const early = await server({ do: 'end' })
    await until('it answers', () => early.reports.length > 0)
    expect([early.reports, ended]).toEqual([[{ ending: false }], 0])
    first.tell({ do: 'stop', reason: 'server' })
    await until('the turn ends', () => first.reports.some((report) => 'end' in report))
    const late = await server({ do: 'end' })
    await until('it ends', () => ended > 0)
    expect(late.reports).toEqual([{ ending: true }])
  })

  it('ends by itself when it is idle', async () => {
    await pass(10_000)
    expect(ended).toBe(0)
    await pass(25_000)
    expect(ended).toBeGreaterThan(0)
  })

  it('stays with a server that is there, and for a long time for one that may come back for its turn', async () => {
    const first = await open()
    first.tell({ do: 'turn', input: input('[[silence]]') })
    const foreign = await first.bound()
    await pass(3_600_000)
    expect(ended).toBe(0)
    first.die()
    await pass(60_000)
    expect(ended).toBe(0)
    const second = await server({ do: 'reattach', session: 'ses', foreign })
    await until('it is taken up', () => second.reports.some((report) => 'found' in report && report.found.state === 'running'))
    second.die()
    await until('it is dead', second.closed)
    for (let i = 0; i < 30 && ended === 0; i++) await pass(60_000)
    expect(ended).toBeGreaterThan(0)
  })

  it('ends at once when its folder is gone', async () => {
    rmSync(folder, { recursive: true })
    await pass(600)
    expect(ended).toBeGreaterThan(0)
  })

  it('is not taken for another process with its number: that one is never spoken to', async () => {
    let calls = 0
    const stranger = createServer((socket) => {
      calls++
      socket.destroy()
    })
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    await writeRecord(folder, { ...record, startTime: '41', port: (stranger.address() as AddressInfo).port })
    expect((await back('turn_x')).found).toEqual({ state: 'gone' })
    await expect(client().open(opening, () => undefined, false)).rejects.toThrow('did not start')
    writeFileSync(join(folder, 'agent.json'), readFileSync(join(folder, 'agent.json'), 'utf8').slice(0, 20))
    expect((await back('turn_x')).found).toEqual({ state: 'gone' })
    expect(calls).toBe(0)
    await new Promise((resolve) => stranger.close(resolve))
  })
})

describe('what a turn has said so far', () => {
  const said = (...events: AgentEvent[]): Tracker => {
    const tracker = new Tracker()
    for (const event of events) tracker.take(event)
    return tracker
  }
  const text = (delta: string): AgentEvent => ({ type: 'text', delta })
  const tool: AgentEvent = { type: 'tool.started', call: 'c', name: 'read', verb: 'read' }

  it('is the message that it is in, which begins anew after a tool, a thought, a question of its own and a segment', () => {
    expect(said(text('a'), text('b')).message).toBe('ab')
    for (const between of [tool, { type: 'segment' } as const, { type: 'reasoning', delta: 'hm' } as const]) expect(said(text('a'), between, text('b'), text('c')).message).toBe('bc')
    expect(said(text('a'), tool).message).toBe('a')
    const clarify = { type: 'clarify.raised', question: 'q', request: { question: '?', choices: [], free: true } } satisfies AgentEvent
    expect(said(text('a'), clarify, text('b')).message).toBe('b')
    expect(said(text('abc'), { type: 'text.replace', from: 1, text: 'x' }, text('y')).message).toBe('axy')
  })

  it('counts a question as open until it is answered, withdrawn or its tool has ended', () => {
    const asks = (question: string, call?: string): AgentEvent => ({ type: 'question.raised', question, ...(call ? { call } : {}), request: { action: 'x', tool: 'shell', choices: [] } })
    const tracker = said(tool, asks('a', 'c'), asks('b'), asks('d'), { type: 'question.withdrawn', question: 'd', why: 'expired' })
    expect(tracker.questions.map((each) => each.question)).toEqual(['a', 'b'])
    tracker.answered('b')
    tracker.take({ type: 'tool.closed', call: 'c', state: 'done', result: 'r' })
    expect([tracker.questions, tracker.open, tracker.closed]).toEqual([[], [], [{ call: 'c', state: 'done', result: 'r' }]])
  })
})

describe('what a server has missed of a turn', () => {
  type Line = Shown
  /** Rows as a server makes them of what it is told. */
  const told = (rows: Line[], events: readonly AgentEvent[]): Line[] => {
    const out = rows.map((row) => ({ ...row }))
    let parted = false
    for (const event of events) {
      const last = out.at(-1)
      if (event.type === 'text' || event.type === 'reasoning') {
        const kind = event.type === 'text' ? 'answer' : 'thought'
        if (!parted && last?.kind === kind) last.text += event.delta
        else out.push({ kind, text: event.delta })
        parted = false
      } else if (event.type === 'tool.started') out.push({ kind: 'tool', call: event.call, live: true })
      else if (event.type === 'tool.closed') for (const row of out) {
        if (row.kind === 'tool' && row.call === event.call) row.live = false
      }
      if (event.type === 'segment') parted = true
    }
    return out
  }
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  const word = fc.string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 1, maxLength: 5 })
  const event = fc.oneof(
    { weight: 4, arbitrary: word.map((delta): AgentEvent => ({ type: 'text', delta })) }, { weight: 2, arbitrary: word.map((delta): AgentEvent => ({ type: 'reasoning', delta })) },
    fc.constant<AgentEvent>({ type: 'segment' }), fc.nat(5).map((n): AgentEvent => ({ type: 'tool.started', call: `c${n}`, name: 'x', verb: 'other' })),
    fc.nat(5).map((n): AgentEvent => ({ type: 'tool.closed', call: `c${n}`, state: 'done' })),
  )
  /** Each tool begins once, and ends once after that. */
  const sound = (events: AgentEvent[]): AgentEvent[] => {
    const begun = new Set<string>()
    const over = new Set<string>()
    return events.filter((each) => {
      if (each.type === 'tool.started') return !begun.has(each.call) && begun.add(each.call)
      if (each.type === 'tool.closed') return begun.has(each.call) && !over.has(each.call) && over.add(each.call)
      return true
    })
  }
  const of = (events: readonly AgentEvent[]): Past => {
    const past = new Past()
    for (const each of events) past.take(each)
    return past
  }
  /** Thoughts that a restart has parted are one. */
  const joined = (rows: Line[]): Line[] => rows.reduce<Line[]>((out, row) => {
    const last = out.at(-1)
    if (row.kind === 'thought' && last?.kind === 'thought') last.text += row.text
    else out.push({ ...row })
    return out
  }, [])

  it('and what it has shown make the whole, wherever it was cut off', () => {
    console.log(`seed ${seed}`)
    fc.assert(
      fc.property(fc.array(event, { maxLength: 25 }).map(sound), fc.nat(), fc.nat(), (events, cut, within) => {
        const k = cut % (events.length + 1)
        const half = events[k]
        const shown = told([], [...events.slice(0, k), ...(half?.type === 'text' || half?.type === 'reasoning' ? [{ ...half, delta: half.delta.slice(0, within % (half.delta.length + 1)) }] : [])].filter((each) => !('delta' in each) || each.delta !== ''))
        const missed = of(events).missed(shown)!
        expect(missed).not.toBeNull()
        expect(missed.open).toEqual(shown.flatMap((row) => (row.kind === 'tool' && row.live ? [row.call] : [])))
        const last = shown.findLast((row): row is Extract<Line, { kind: 'answer' | 'thought' }> => row.kind === 'answer')
        if (last) {
          expect(missed.message!.startsWith(last.text)).toBe(true)
          if (shown.at(-1) === last) last.text = missed.message!
          else expect(missed.message).toBe(last.text)
        } else expect(missed.message).toBeNull()
        expect(joined(told(shown, [{ type: 'segment' }, ...missed.events]))).toEqual(joined(told([], events)))
      }),
      { seed, numRuns: 2000 },
    )
  })

  it('cannot be told when what was shown is not its beginning, or texts were replaced', () => {
    const events: AgentEvent[] = [{ type: 'text', delta: 'one' }, { type: 'segment' }, { type: 'text', delta: 'two' }]
    expect(of(events).missed([{ kind: 'answer', text: 'other' }])).toBeNull()
    expect(of(events).missed([{ kind: 'answer', text: 'on' }, { kind: 'answer', text: 'two' }])).toBeNull()
    expect(of(events).missed([{ kind: 'thought', text: 'one' }])).toBeNull()
    expect(of(events).missed([{ kind: 'tool', call: 'c', live: true }])).toBeNull()
    expect(of([...events, { type: 'text.replace', from: 0, text: 'x' }]).missed([])).toBeNull()
  })
})
