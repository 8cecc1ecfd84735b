import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../folder'
import type { Timers } from '../port'
import type { ProgramFacts } from './facts'
import { endProgram } from './ladder'
import { findLeft, whenGone } from './left'
import { LogTail } from './log-tail'
import { Output } from './output'
import type { ProgramKind, ProgramStatus, Running } from './port'
import { dropRecord, writeRecord } from './record'
import type { ProgramRecord } from './record'
import { spawnProgram } from './spawn'
import type { Ending, Launch } from './spawn'

/** How a program is spoken to: on loopback, with a secret that it was given at its start. */
export interface Contact { port: number; token: string }

export interface SupervisorParts {
  kind: ProgramKind
  timers: Timers
  facts: ProgramFacts
  /** Ours alone, of this program and profile: its record, what it says, and the empty folder that it stands in. */
  folder: string
  /** What a start needs; called for each. Rejects when it cannot be started, and then nothing was. */
  prepare(): Promise<Launch>
  /** The port, once what it wrote to its output says that it is ready. */
  sign(output: string): number | null
  /** The arguments that a running one of ours must end with, to be adopted. */
  args: readonly string[]
  /** Whether the process that was found is the right one, asked without the token; and takes no word of it otherwise. */
  greet(port: number): Promise<boolean>
  /** Whether it is started again at once after it ended by itself. */
  wanted(): boolean
  /** Told each time that one runs: started, started again, or adopted. */
  runs?(running: Running<Contact>): void
}

/** Why a program does not run: in words, with the last that it said. */
export class NotStarted extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'NotStarted'
  }
}

/** ms between two looks at a starting program's output, and at a running one's. */
const WATCH_START = 25
const WATCH = 1_000
/** What of its output lies on disk before it is emptied, bytes. */
const KEEP_ON_DISK = 1024 * 1024
/** A program that has run so long has not failed to start; ms. */
const STABLE = 60_000

/** Starts a program on first use, one start at a time; adopts one that an earlier server left; starts it again with growing pauses; ends it by the ladder (spec/agents.md §4). */
export class Supervisor {
  #state: ProgramStatus['state'] = 'idle'
  #words: string | undefined
  #running: Running<Contact> | null = null
  #starting: Promise<Running<Contact>> | null = null
  #restarts = 0
  #failures = 0
  #notBefore = 0
  #stopping = false
  #stops: Promise<void> | null = null
  #left = false
  #skipPause: (() => void) | null = null
  #out: Output
  #err: Output
  #log = new LogTail()
  #ends = new Set<() => void>()
  #watching: (() => void) | null = null
  #closing: Promise<void> = Promise.resolve()

  constructor(private readonly parts: SupervisorParts) {
    this.#out = new Output(join(parts.folder, 'out'))
    this.#err = new Output(join(parts.folder, 'err'))
  }

  /** The running program: the one that runs, one that an earlier server left, or a new one. Rejects with `NotStarted`, or as `prepare` did. */
  ensure(): Promise<Running<Contact>> {
    // One that is being ended is nobody's any more.
    if (this.#stops) return this.#stops.then(() => this.ensure())
    if (this.#running) return Promise.resolve(this.#running)
    if (this.#left) return Promise.reject(new NotStarted('The server ends.'))
    return (this.#starting ??= this.#begin().finally(() => (this.#starting = null)))
  }

  /** The program if it runs, also one that an earlier server left; starts nothing. */
  async found(): Promise<Running<Contact> | null> {
    if (this.#running || this.#left) return this.#running
    if (this.#starting) return await this.#starting.catch(() => null)
    const adopting = this.#adopt().then((running) => {
      if (!running) throw new NotStarted('None was left.')
      return running
    })
    this.#starting = adopting.finally(() => (this.#starting = null))
    return await this.#starting.catch(() => null)
  }

  get running(): Running<Contact> | null {
    return this.#running
  }

  status(): ProgramStatus {
    const running = this.#running
    return {
      state: this.#state,
      ...(running ? { pid: running.pid, startedAt: running.startedAt } : {}),
      restarts: this.#restarts,
      ...(this.#words === undefined ? {} : { words: this.#words }),
      log: this.#log.text(),
    }
  }

  /** It runs and gives no sign of life, or does so again (null). */
  degrade(words: string | null): void {
    if (!this.#running) return
    this.#state = words === null ? 'ready' : 'degraded'
    this.#words = words ?? undefined
  }

  /** Told each time a running program has ended, by itself or by us. Returns the way to end it. */
  onEnd(listener: () => void): () => void {
    this.#ends.add(listener)
    return () => this.#ends.delete(listener)
  }

  /** Ends it by the ladder, also one that is just starting. Nothing of it is left when this resolves. */
  stop(): Promise<void> {
    return (this.#stops ??= this.#stop().finally(() => (this.#stops = null)))
  }

  async #stop(): Promise<void> {
    this.#stopping = true
    try {
      this.#skipPause?.()
      await this.#starting?.catch(() => undefined)
      if (this.#running) await endProgram(this.#running, this.parts.kind, this.parts.facts, this.parts.timers)
      await this.#closing
      this.#state = 'idle'
      this.#words = undefined
      this.#failures = 0
      this.#notBefore = 0
    } finally {
      this.#stopping = false
    }
  }

  /** Forgets it without ending it: the next server adopts it. Nothing is started from now on, and what was just starting is ended. */
  async leave(): Promise<void> {
    this.#left = true
    this.#skipPause?.()
    await this.#starting?.catch(() => undefined)
    this.#watching?.()
    await this.#close()
  }

  async #begin(): Promise<Running<Contact>> {
    const adopted = await this.#adopt()
    if (adopted) return adopted
    this.#state = 'starting'
    try {
      const wait = this.#notBefore - this.parts.timers.monotonic()
      if (wait > 0) await this.#pause(wait)
      return await this.#start()
    } catch (error) {
      this.#state = this.#stopping ? 'idle' : 'failed'
      this.#words = error instanceof Error ? error.message : String(error)
      if (error instanceof NotStarted && !this.#stopping) this.#failed()
      throw error
    }
  }

  /** Pauses grow; what failed too often waits for somebody to ask. */
  #failed(): void {
    const { pauses } = this.parts.kind
    this.#notBefore = this.parts.timers.monotonic() + (pauses[Math.min(this.#failures, pauses.length - 1)] ?? 0)
    this.#failures++
  }

  #pause(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const cancel = this.parts.timers.after(ms, resolve)
      this.#skipPause = () => {
        cancel()
        resolve()
      }
    }).then(() => void (this.#skipPause = null))
  }

  async #adopt(): Promise<Running<Contact> | null> {
    const { facts, timers } = this.parts
    const left = await findLeft(this.parts)
    if (!left) return null
    const { pid, port, token, startedAt } = left
    this.#log.begin([token])
    await Promise.all([this.#out.resume(), this.#err.resume()])
    return this.#take({ pid, startedAt: startedAt ?? timers.now(), adopted: true, contact: { port, token }, ended: whenGone(left, facts, timers).then(() => ({ code: null, signal: null })) })
  }

  async #start(): Promise<Running<Contact>> {
    const { folder, timers, facts, kind } = this.parts
    const launch = await this.parts.prepare()
    await makeFolder(folder, 0o700)
    await chmod(folder, 0o700)
    const cwd = join(folder, 'empty')
    await rm(cwd, { recursive: true, force: true })
    await mkdir(cwd, { mode: 0o700 })
    if (this.#unwanted) throw new NotStarted('It was told to end.')
    this.#log.begin([launch.token, ...launch.secrets])
    const startedAt = timers.now()
    const { pid, ended } = await spawnProgram(launch, cwd, { out: this.#out, err: this.#err }).catch(async (error: Error) => {
      await this.#close()
      throw new NotStarted(`${kind.name} could not be started: ${error.message}`)
    })
    try {
      const [startTime, boot] = await Promise.all([facts.startTime(pid), facts.bootId()])
      const record: ProgramRecord = { pid, startTime, boot, port: 0, token: launch.token, startedAt }
      // At once: should we be killed now, the next server finds it.
      await writeRecord(folder, record)
      const port = await this.#ready(ended)
      await writeRecord(folder, { ...record, port })
      return this.#take({ pid, startedAt, adopted: false, contact: { port, token: launch.token }, ended })
    } catch (error) {
      await endProgram({ pid, ended }, kind, facts, timers)
      await this.#close()
      await dropRecord(folder)
      throw error
    }
  }

  async #ready(ended: Promise<Ending>): Promise<number> {
    const { timers, kind } = this.parts
    let ending: Ending | null = null
    void ended.then((end) => (ending = end))
    const end = timers.monotonic() + kind.startWithin
    let said = ''
    for (; timers.monotonic() < end && !this.#unwanted; ) {
      await new Promise<void>((resolve) => void timers.after(WATCH_START, resolve))
      this.#log.add(await this.#err.fresh())
      said = (said + (await this.#out.fresh()).toString('utf8')).slice(-KEEP_ON_DISK)
      // A sign of a program that has ended meanwhile is worth nothing.
      const over = ending as Ending | null
      if (over) this.#log.add(await this.#err.fresh())
      if (over) throw new NotStarted(this.#withLast(`${kind.name} ended before it was ready (${endingWords(over)})`, said))
      const port = this.parts.sign(said)
      if (port !== null) return port
    }
    throw new NotStarted(this.#unwanted ? 'It was told to end.' : this.#withLast(`${kind.name} gave no sign of being ready within ${Math.round(kind.startWithin / 1000)} seconds`, said))
  }

  get #unwanted(): boolean {
    return this.#stopping || this.#left
  }

  #take(running: Running<Contact>): Running<Contact> {
    this.#running = running
    this.#state = 'ready'
    this.#words = undefined
    this.#watch()
    this.parts.runs?.(running)
    const since = this.parts.timers.monotonic()
    this.#closing = running.ended.then((ending) => this.#ended(ending, since))
    return running
  }

  async #ended(ending: Ending, since: number): Promise<void> {
    const byUs = this.#stopping
    this.#running = null
    this.#watching?.()
    if (this.#left) return
    await this.#close()
    await dropRecord(this.parts.folder)
    this.#state = byUs ? 'idle' : 'failed'
    if (!byUs) {
      if (this.parts.timers.monotonic() - since >= STABLE) this.#failures = 0
      this.#failed()
      this.#words = this.#withLast(`${this.parts.kind.name} has ended by itself (${endingWords(ending)})`)
    }
    for (const listener of [...this.#ends]) listener()
    if (!byUs) this.#again()
  }

  /** Starts it again as long as somebody wants it and it has not failed too often. */
  #again(): void {
    if (this.#unwanted || this.#failures >= this.parts.kind.giveUpAfter || !this.parts.wanted()) return
    this.#restarts++
    this.ensure().catch((error: unknown) => {
      if (error instanceof NotStarted) this.#again()
    })
  }

  #watch(): void {
    let cancel = (): void => undefined
    let over = false
    const look = async (): Promise<void> => {
      await this.#read().catch(() => undefined)
      if (!over) cancel = this.parts.timers.after(WATCH, () => void look())
    }
    void look()
    this.#watching = () => {
      over = true
      cancel()
    }
  }

  /** What it says on its output after the sign is nobody's business (Hermes prints whole system prompts there): it is thrown away. */
  async #read(): Promise<void> {
    this.#log.add(await this.#err.fresh())
    await this.#err.empty(KEEP_ON_DISK)
    await this.#out.fresh(0)
    await this.#out.empty(0)
  }

  async #close(): Promise<void> {
    await this.#read().catch(() => undefined)
    await Promise.all([this.#out.close(), this.#err.close()])
  }

  /** `said`: what it wrote to its output before it was ready; some say there why they will not be. */
  #withLast(words: string, said = ''): string {
    const last = this.#log.lastLine() ?? (said.trimEnd().split('\n').at(-1)?.trim().slice(0, 400) || undefined)
    return last === undefined ? `${words}.` : `${words}: ${last}`
  }
}

function endingWords({ code, signal }: Ending): string {
  return signal !== null ? `by ${signal}` : code !== null ? `with code ${code}` : 'unseen'
}
