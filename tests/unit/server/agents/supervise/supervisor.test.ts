import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemFacts } from '../../../../../server/agents/supervise/facts'
import type { ProgramKind } from '../../../../../server/agents/supervise/port'
import { readRecord, writeRecord } from '../../../../../server/agents/supervise/record'
import { NotStarted, Supervisor } from '../../../../../server/agents/supervise/supervisor'
import type { SupervisorParts } from '../../../../../server/agents/supervise/supervisor'
import { systemTimers } from '../../../../../server/runs/timers'

const program = fileURLToPath(new URL('stand-in.mjs', import.meta.url))
const facts = systemFacts()
const timers = systemTimers()
const kind: ProgramKind = { name: 'Stand-in', startWithin: 15_000, pauses: [10, 30, 60], giveUpAfter: 3, term: 2_000, kill: 2_000 }
const token = 'tok-of-the-program-0123456789'

async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`It did not come about: ${what}`)
}

/** Ended, or only not taken note of yet. */
const lives = async (pid: number): Promise<boolean> => (await facts.command(pid)) !== null

const greet = (port: number): Promise<boolean> => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  socket.once('data', () => resolve(true))
  socket.once('error', () => resolve(false))
  socket.once('close', () => resolve(false))
})

describe.skipIf(process.platform !== 'linux')('a supervised program', { timeout: 60_000 }, () => {
  let folder: string
  let made: Supervisor[]
  const victims: ChildProcess[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'talaria-supervise-'))
    made = []
  })
  afterEach(async () => {
    for (const supervisor of made) await supervisor.stop()
    for (const victim of victims.splice(0)) victim.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const supervise = (behave: string, more: Partial<SupervisorParts> = {}): Supervisor => {
    const supervisor = new Supervisor({
      kind, timers, facts, folder: join(folder, 'own'), args: [program, 'serve'], greet, wanted: () => true,
      sign: (output) => Number(/READY port=(\d+)/.exec(output)?.[1] ?? 0) || null,
      prepare: async () => ({
        command: process.execPath, args: [program, 'serve'], token, secrets: ['hunter2hunter2'],
        env: { BEHAVE: behave, TOKEN: token, KEY: 'hunter2hunter2', STARTS: join(folder, 'starts') },
      }),
      ...more,
    })
    made.push(supervisor)
    return supervisor
  }
  const starts = (): number[] => (existsSync(join(folder, 'starts')) ? readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').map(Number) : [])
  const victim = (args: string[] = ['-e', 'setTimeout(() => 0, 60_000)']): number => {
    const child = spawn(process.execPath, args, { stdio: 'ignore' })
    victims.push(child)
    return child.pid!
  }
  /** As if this server had been killed: its memory is gone, the program and its record are not. */
  const killed = (supervisor: Supervisor): Promise<void> => supervisor.leave()

  it('is not started before it is used, and then once, whoever asks', async () => {
    const supervisor = supervise('')
    expect(supervisor.status()).toEqual({ state: 'idle', restarts: 0, log: '' })
    expect(await supervisor.found()).toBeNull()
    expect(starts()).toEqual([])
    const [one, two] = await Promise.all([supervisor.ensure(), supervisor.ensure()])
    expect(two).toBe(one)
    expect(starts()).toEqual([one.pid])
    expect(await greet(one.contact.port)).toBe(true)
    expect(supervisor.status()).toMatchObject({ state: 'ready', pid: one.pid, restarts: 0 })
  })

  it('stands in an empty folder, leads a group of its own, and sees nothing of our environment', async () => {
    const { pid } = await supervise('').ensure()
    const cwd = realpathSync(`/proc/${pid}/cwd`)
    expect(cwd).toBe(realpathSync(join(folder, 'own', 'empty')))
    expect(readdirSync(cwd)).toEqual([])
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[2]).toBe(String(pid))
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean).map((entry) => entry.split('=')[0])
    expect(names.sort()).toEqual(['BEHAVE', 'KEY', 'STARTS', 'TOKEN'])
    expect((await facts.command(pid))!.join(' ')).not.toContain(token)
    expect(statSync(join(folder, 'own')).mode & 0o777).toBe(0o700)
    for (const file of ['agent.json', 'out', 'err']) expect(statSync(join(folder, 'own', file)).mode & 0o777, file).toBe(0o600)
  })

  it('may take its time, and is ready by its own sign', async () => {
    const supervisor = supervise('slow=400,garbage')
    const starting = supervisor.ensure()
    await until('it is starting', () => supervisor.status().state === 'starting')
    expect(await greet((await starting).contact.port)).toBe(true)
  })

  it('that gives no sign is ended, and its last words are said', async () => {
    const supervisor = supervise('silent', { kind: { ...kind, startWithin: 1_500 } })
    await expect(supervisor.ensure()).rejects.toThrow(NotStarted)
    expect(supervisor.status()).toMatchObject({ state: 'failed', words: 'Stand-in gave no sign of being ready within 2 seconds: last words' })
    const [pid] = starts()
    expect(await lives(pid!)).toBe(false)
    expect(await readRecord(join(folder, 'own'))).toBeNull()
  })

  it('that ends before it is ready says why', async () => {
    await expect(supervise('dies').ensure()).rejects.toThrow('Stand-in ended before it was ready (with code 3): last words')
  })

  it('that cannot be started at all says so', async () => {
    const supervisor = supervise('', { prepare: async () => ({ command: join(folder, 'none'), args: [], token, secrets: [], env: {} }) })
    await expect(supervisor.ensure()).rejects.toThrow(/^Stand-in could not be started: .*ENOENT/)
    expect(supervisor.status().state).toBe('failed')
  })

  it('whose start cannot be prepared fails as that did, and is not tried again by itself', async () => {
    let asked = 0
    const supervisor = supervise('', { prepare: () => Promise.reject(new Error(`no such profile ${++asked}`)) })
    await expect(supervisor.ensure()).rejects.toThrow('no such profile 1')
    expect(supervisor.status()).toMatchObject({ state: 'failed', words: 'no such profile 1' })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(asked).toBe(1)
    await expect(supervisor.ensure()).rejects.toThrow('no such profile 2')
  })

  it('keeps the last 64 kB of its errors, in whole lines', async () => {
    const supervisor = supervise('chatty')
    await supervisor.ensure()
    await until('all of it is read', () => supervisor.status().log.endsWith('last words\n'))
    const { log } = supervisor.status()
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(64 * 1024)
    expect(Buffer.byteLength(log)).toBeGreaterThan(63 * 1024)
    expect(log).toMatch(/^line \d+ of what it says\n/)
    expect(log).toContain('line 3999 of what it says\n')
  })

  it('whose errors name its token or a key of the profile is shown without them', async () => {
    const supervisor = supervise('telling')
    await supervisor.ensure()
    await until('it is read', () => supervisor.status().log.includes('last words'))
    expect(supervisor.status().log).toBe('the token is [key] and the key is [key]\nlast words\n')
  })

  it('that goes on writing to its output is not kept, and fills no disk', async () => {
    const supervisor = supervise('garbage')
    await supervisor.ensure()
    const out = join(folder, 'own', 'out')
    await until('it was emptied', () => statSync(out).size < 5_000)
    await until('and is written again', () => statSync(out).size > 0)
    await until('and emptied again', () => statSync(out).size < 2_000)
    expect(supervisor.status().log).not.toContain('system_prompt')
  })

  it('that ends by itself is started again with pauses, and is given up in the end', async () => {
    const supervisor = supervise('')
    let ends = 0
    supervisor.onEnd(() => ends++)
    await supervisor.ensure()
    for (let times = 1; times <= kind.giveUpAfter; times++) {
      const { pid } = await until(`it runs, for the ${times}. time`, () => (starts().length === times ? supervisor.running : null))
      process.kill(pid, 'SIGKILL')
      await until('that is seen', () => ends === times)
    }
    expect(supervisor.status()).toMatchObject({ state: 'failed', restarts: 2, words: 'Stand-in has ended by itself (by SIGKILL): last words' })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(starts()).toHaveLength(3)
    // Until somebody asks.
    await supervisor.ensure()
    expect(starts()).toHaveLength(4)
  })

  it('that ends by itself while nobody wants it is left alone until it is used', async () => {
    const supervisor = supervise('', { wanted: () => false })
    process.kill((await supervisor.ensure()).pid, 'SIGKILL')
    await until('it ended', () => supervisor.status().state === 'failed')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(starts()).toHaveLength(1)
    expect(supervisor.status().restarts).toBe(0)
    expect((await supervisor.ensure()).pid).toBe(starts()[1])
  })

  it('that fails to start waits longer each time, and a start that somebody asks for meanwhile is the same one', async () => {
    const supervisor = supervise('dies', { kind: { ...kind, pauses: [0, 3_600_000] }, wanted: () => false })
    await expect(supervisor.ensure()).rejects.toThrow(NotStarted)
    await expect(supervisor.ensure()).rejects.toThrow(NotStarted)
    const tries = [supervisor.ensure(), supervisor.ensure()]
    const told = Promise.allSettled(tries)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(starts()).toHaveLength(2)
    expect(supervisor.status().state).toBe('starting')
    // Who ends it, or asks for a new start, does not wait for that.
    await supervisor.stop()
    expect((await told).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(supervisor.ensure()).rejects.toThrow(NotStarted)
    expect(starts()).toHaveLength(3)
  })

  it('ends by SIGTERM, with its record', async () => {
    const supervisor = supervise('')
    let ends = 0
    supervisor.onEnd(() => ends++)
    const { pid, ended } = await supervisor.ensure()
    await supervisor.stop()
    expect(await ended).toEqual({ code: null, signal: 'SIGTERM' })
    expect(await lives(pid)).toBe(false)
    expect(await readRecord(join(folder, 'own'))).toBeNull()
    expect(supervisor.status()).toMatchObject({ state: 'idle', restarts: 0 })
    expect(ends).toBe(1)
    expect((await supervisor.ensure()).pid).not.toBe(pid)
  })

  it('that does not listen to SIGTERM ends by SIGKILL, and what it started in groups of its own ends with it', async () => {
    const supervisor = supervise('deaf,child', { kind: { ...kind, term: 200, kill: 300 } })
    const { pid, ended } = await supervisor.ensure()
    const child = Number(await until('it said its child', () => /child (\d+)/.exec(supervisor.status().log)?.[1]))
    expect(await lives(child)).toBe(true)
    await supervisor.stop()
    expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
    expect(await Promise.all([pid, child].map(lives))).toEqual([false, false])
  })

  it('that is told to end while it starts is gone', async () => {
    const supervisor = supervise('silent')
    const starting = supervisor.ensure()
    const refused = expect(starting).rejects.toThrow('told to end')
    const [pid] = await until('it was started', () => (starts().length > 0 ? starts() : null))
    await supervisor.stop()
    await refused
    expect(await lives(pid!)).toBe(false)
    expect(supervisor.status().state).toBe('idle')
  })

  it('that an earlier server left is taken up, with its contact, and ended by the new one', async () => {
    const first = supervise('child')
    const { pid, contact, startedAt } = await first.ensure()
    await killed(first)
    expect(await lives(pid)).toBe(true)
    const second = supervise('')
    expect(await second.found()).toMatchObject({ pid, contact, startedAt, adopted: true })
    expect((await second.ensure()).pid).toBe(pid)
    await until('what it says is read', () => second.status().log.includes('last words'))
    expect(second.status()).toMatchObject({ state: 'ready', pid, startedAt })
    await second.stop()
    expect(await lives(pid)).toBe(false)
    expect(starts()).toEqual([pid])
  })

  it('goes on while no server is there, though it writes to where we read', async () => {
    const first = supervise('garbage')
    const { pid, contact } = await first.ensure()
    await killed(first)
    const out = join(folder, 'own', 'out')
    const before = statSync(out).size
    await until('it writes', () => statSync(out).size > before + 200)
    expect(await greet(contact.port)).toBe(true)
    const second = supervise('')
    expect((await second.found())?.pid).toBe(pid)
  })

  it('that an adopting server sees end is started again', async () => {
    const first = supervise('')
    const { pid } = await first.ensure()
    await killed(first)
    const second = supervise('')
    await second.found()
    process.kill(pid, 'SIGKILL')
    const again = await until('there is another', () => (second.running && second.running.pid !== pid ? second.running : null))
    expect(again.adopted).toBe(false)
    expect(second.status().restarts).toBe(1)
  })

  it('whose number has gone to another process is left alone, were it another of its kind: only number and arguments are the same', async () => {
    const other = victim([program, 'serve'])
    await until('it runs', () => lives(other))
    await writeRecord(join(folder, 'own'), { pid: other, startTime: '1', boot: await facts.bootId(), port: 1, token })
    expect((await supervise('').ensure()).pid).not.toBe(other)
    expect(await lives(other)).toBe(true)
  })

  it('of an earlier boot is left alone', async () => {
    const other = victim([program, 'serve'])
    await until('it runs', () => lives(other))
    await writeRecord(join(folder, 'own'), { pid: other, startTime: await facts.startTime(other), boot: 'another', port: 1, token })
    expect(await supervise('').found()).toBeNull()
    expect(await lives(other)).toBe(true)
  })

  it('is known by its arguments: another program at its place gets no token and is not ended', async () => {
    const other = victim()
    await until('it runs', () => lives(other))
    let greeted = 0
    await writeRecord(join(folder, 'own'), { pid: other, startTime: await facts.startTime(other), boot: await facts.bootId(), port: 1, token })
    expect(await supervise('', { greet: async () => ++greeted > 0 }).found()).toBeNull()
    expect(greeted).toBe(0)
    expect(await lives(other)).toBe(true)
    expect(await readRecord(join(folder, 'own'))).toBeNull()
  })

  it('of another account is not adopted', async () => {
    const first = supervise('')
    const { pid } = await first.ensure()
    await killed(first)
    expect(await supervise('', { facts: { ...facts, ours: async () => false } }).found()).toBeNull()
    expect(await lives(pid)).toBe(true)
    process.kill(pid, 'SIGKILL')
  })

  it('that was just starting when its server was killed is ended by the next one', async () => {
    const first = supervise('')
    const { pid } = await first.ensure()
    await killed(first)
    const record = (await readRecord(join(folder, 'own')))!
    await writeRecord(join(folder, 'own'), { ...record, port: 0 })
    const second = supervise('')
    expect((await second.ensure()).pid).not.toBe(pid)
    expect(await lives(pid)).toBe(false)
  })

  it('has its record from the moment it runs, so that a killed server leaves nothing that nobody knows', async () => {
    const supervisor = supervise('slow=600')
    const starting = supervisor.ensure()
    const record = await until('there is one', () => readRecord(join(folder, 'own')))
    expect(record).toMatchObject({ port: 0, token })
    expect(await starting).toMatchObject({ pid: record.pid })
    expect((await readRecord(join(folder, 'own')))!.port).toBeGreaterThan(0)
  })

  it('that was left and does not answer is ended and replaced', async () => {
    const first = supervise('cold')
    const { pid } = await first.ensure()
    await killed(first)
    const second = supervise('')
    const now = await second.ensure()
    expect(now.pid).not.toBe(pid)
    expect(await lives(pid)).toBe(false)
    expect(await greet(now.contact.port)).toBe(true)
  })

  it('is started anew where a record cannot be read', async () => {
    const supervisor = supervise('')
    await writeRecord(join(folder, 'own'), { pid: 2, startTime: null, boot: null, port: 1, token })
    writeFileSync(join(folder, 'own', 'agent.json'), '{"pid": 12')
    expect((await supervisor.ensure()).adopted).toBe(false)
  })

  it('on a machine that tells nothing of processes is ended as our own child, and never adopted', async () => {
    const blind = systemFacts('darwin')
    const first = supervise('deaf', { facts: blind, kind: { ...kind, term: 100 } })
    const { pid } = await first.ensure()
    expect(await supervise('', { facts: blind }).found()).toBeNull()
    expect(await lives(pid)).toBe(true)
    await first.stop()
    expect(await lives(pid)).toBe(false)
  })

  it('that gives no sign of life is shown as degraded until it does', async () => {
    const supervisor = supervise('')
    await supervisor.ensure()
    supervisor.degrade('It has not answered')
    expect(supervisor.status()).toMatchObject({ state: 'degraded', words: 'It has not answered' })
    supervisor.degrade(null)
    expect(supervisor.status().state).toBe('ready')
    expect(supervisor.status().words).toBeUndefined()
  })
})
