import { randomBytes } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import type { Timers } from '../port'
import type { ProgramFacts } from '../supervise/facts'
import type { ProgramKind, ProgramStatus, Running } from '../supervise/port'
import { NotStarted, Supervisor } from '../supervise/supervisor'
import type { Contact } from '../supervise/supervisor'
import { serveEnvironment } from './environment'
import { HermesFault } from './port'
import type { HermesProgram, StoredSession } from './port'
import type { HermesEvent } from './protocol/events'
import { METHODS } from './protocol/methods'
import type { Method, Params, Result } from './protocol/methods'
import type { HermesMessage } from './protocol/rest'
import type { HermesRest } from './rest'
import { Router } from './router'
import { Wire } from './wire'

/**
 * Numbers of Hermes (ms). Start: ready after 1.3–1.7 s (spec/hermes-rpc.md §1.2), whose §10 gives it 15 s; a cold disk gets twice that. It ends by SIGTERM within
 * 0.2 s; §10 gives it 5 s. Pauses: a port or a lock of its predecessor is free within a second; what does not run after five starts will not.
 */
export const HERMES: ProgramKind = { name: 'Hermes Agent', startWithin: 30_000, pauses: [250, 1_000, 4_000, 15_000], giveUpAfter: 5, term: 5_000, kill: 2_000 }

/** Measures of speaking to it, ms; a parameter, so that tests need not wait for them. */
export const PATIENCE = {
  /** Sockets to a program that is ready. */
  connect: 15_000,
  /** A call, unless it says otherwise: the longest wait of an inline method is 30 s for the agent to be built (spec/hermes-rpc.md §1.1). */
  call: 30_000,
  /** Silence after which life is asked for, and how long the answer may take: a request may stand behind an inline one of 30 s. */
  silence: 30_000,
  life: 35_000,
  /** Running turns, to end once they were interrupted, before the program is ended: in a tool 1.7–2.3 s were seen (§5). */
  interrupt: 3_000,
  /** Between two looks at whether it lives and is still needed. */
  look: 15_000,
  /** Without a session, a call or work of its own before it is ended: its memory, 86–175 MB, is worth more than 2 s at the next turn. */
  idle: 30 * 60_000,
}
export type Patience = typeof PATIENCE
/** Its children that work for nobody once their sessions are closed: one for each live session. */
const HELPER = 'tui_gateway.slash_worker'

const SIGN = /HERMES_(?:BACKEND|DASHBOARD)_READY port=(\d+)/

export interface HermesProgramParts {
  timers: Timers
  facts: ProgramFacts
  rest: HermesRest
  /** Ours alone, of this profile. */
  folder: string
  /** The profile, its home, and the home that profiles lie in. */
  profile: { name: string; home: string; root: string; secrets: readonly string[] }
  /** The program, found by its own word. Rejects with `HermesFault`. */
  find(): Promise<{ path: string; version: string }>
  /** The folder of the managed layer to start it with, ours or another's; null for none. */
  layer(): Promise<string | null>
  /** Seconds that an approval waits in a program that was started with that. */
  approvalTimeout(): Promise<number>
  /** The server's own environment, of which it gets what `environment.ts` names. */
  env: Readonly<Record<string, string | undefined>>
  homedir: string
  patience: Patience
  kind?: ProgramKind
  report(error: unknown): void
}

/** What the program is started with, whoever its profile is; by this a running one is known again. */
export function serveArgs(profile: string): string[] {
  return ['-p', profile, 'serve', '--isolated', '--host', '127.0.0.1', '--port', '0']
}

/** One `hermes serve` of one profile (spec/agents.md §4). Nothing is started until it is needed. */
export class Program implements HermesProgram {
  #supervisor: Supervisor
  #wires: { owner: Wire; control: Wire; running: Running<Contact> } | null = null
  #router: Router
  #losses = new Set<(loss: 'socket' | 'program') => void>()
  #version: string | undefined
  #used: number
  #life: Promise<boolean> | null = null
  #ended = false
  #calls = 0
  #stopLooking: () => void = () => undefined

  constructor(private readonly parts: HermesProgramParts) {
    this.#router = new Router({ pause: () => this.#wires?.owner.pause(), resume: () => this.#wires?.owner.resume(), report: parts.report })
    this.#used = parts.timers.monotonic()
    this.#supervisor = new Supervisor({
      kind: parts.kind ?? HERMES,
      timers: parts.timers,
      facts: parts.facts,
      folder: parts.folder,
      args: serveArgs(parts.profile.name),
      prepare: () => this.#prepare(),
      sign: (output) => Number(SIGN.exec(output)?.[1] ?? 0) || null,
      greet: async (port) => (await this.#greet(port)) === 'ours',
      wanted: () => this.#router.listeners > 0,
      runs: (running) => void this.#connect(running, this.parts.patience.connect).catch(() => undefined),
    })
    this.#supervisor.onEnd(() => this.#programEnded())
  }

  async ready(): Promise<void> {
    this.#used = this.parts.timers.monotonic()
    if (this.#ended) throw new HermesFault('lost', 'The server ends.')
    if (this.#supervisor.status().state === 'degraded' && !(await this.#lives())) await this.restart()
    const running = await this.#started(() => this.#supervisor.ensure())
    await this.#connect(running, this.parts.patience.connect)
  }

  /** The program that an earlier server left, with both sockets; false when there is none. Starts nothing. */
  async adopt(): Promise<boolean> {
    const running = this.#ended ? null : await this.#supervisor.found()
    if (!running) return false
    await this.#connect(running, this.parts.patience.connect)
    return true
  }

  async approvalTimeout(): Promise<number> {
    return (await this.parts.approvalTimeout()) * 1_000
  }

  async call<M extends Method>(method: M, params: Params<M>, options: { within?: number } = {}): Promise<Result<M>> {
    const { socket, params: asked, result } = METHODS[method]
    const checked = asked.safeParse(params)
    if (!checked.success) throw new HermesFault('garbled', `Hermes is not asked ${method} like this: ${checked.error.issues[0]?.path.join('.') ?? ''} ${checked.error.issues[0]?.message ?? ''}`.trimEnd())
    if (!this.#wires) throw new HermesFault('lost', 'Hermes does not run.')
    this.#used = this.parts.timers.monotonic()
    this.#calls++
    const mark = this.#router.mark
    try {
      const answer = result.safeParse(await this.#wires[socket].call(method, checked.data, options.within ?? this.parts.patience.call))
      if (!answer.success) throw new HermesFault('garbled', `Hermes answered ${method} in a form that is not known.`)
      // The answer says what the session has said until now; what came since the question may be newer.
      if (method === 'session.resume') this.#router.forgetBefore((answer.data as Result<'session.resume'>).session_id, mark)
      return answer.data as Result<M>
    } finally {
      this.#calls--
      this.#used = this.parts.timers.monotonic()
    }
  }

  listen(live: string, listener: (event: HermesEvent) => void | Promise<void>): () => void {
    return this.#router.listen(live, listener)
  }

  onLoss(listener: (loss: 'socket' | 'program') => void): () => void {
    this.#losses.add(listener)
    return () => this.#losses.delete(listener)
  }

  async messages(stored: string): Promise<HermesMessage[] | null> {
    return (await this.#rest((where) => this.parts.rest.messages(where, stored)))?.messages ?? null
  }

  async stored(stored: string): Promise<StoredSession | null> {
    return await this.#rest((where) => this.parts.rest.stored(where, stored))
  }

  async importSession(session: { title?: string; cwd?: string; messages: { role: 'user' | 'assistant'; content: string }[] }): Promise<string> {
    return await this.#rest((where) => this.parts.rest.importSession(where, session))
  }

  status(): ProgramStatus {
    return { ...this.#supervisor.status(), ...(this.#version === undefined ? {} : { version: this.#version }) }
  }

  async restart(): Promise<void> {
    await this.#stop()
    await this.ready()
  }

  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.#stopLooking()
    // One that an earlier server left and nobody has used is looked at, too: it must not stay for nothing.
    const running = await this.#supervisor.found().catch(() => null)
    const working = running ? await this.#stillWorks(running) : false
    if (working) await this.#supervisor.leave()
    this.#disconnect()
    if (!working) {
      await this.#supervisor.stop()
      await this.#supervisor.leave()
    }
  }

  async #prepare() {
    const { profile, env, homedir } = this.parts
    const there = await stat(profile.home).then((info) => info.isDirectory(), () => false)
    // Hermes would make the folder (spec/hermes-home.md §2.3), and the person would have a profile that nobody asked for.
    if (!there) throw profile.name === 'default' ? new HermesFault('unconfigured', `Hermes Agent has no home yet: ${profile.home}`) : new HermesFault('unknown_profile', `There is no profile ${profile.name}.`)
    const { path, version } = await this.parts.find()
    this.#version = version
    const token = randomBytes(32).toString('base64url')
    return { command: path, args: serveArgs(profile.name), env: serveEnvironment(env, homedir, { root: profile.root, token, managed: await this.parts.layer() }), token, secrets: profile.secrets }
  }

  async #started(start: () => Promise<Running<Contact>>): Promise<Running<Contact>> {
    try {
      return await start()
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error
      // What `hermes serve` says without them.
      throw new HermesFault(/dependencies not installed/i.test(error.message) ? 'extras_missing' : 'does_not_start', error.message)
    }
  }

  /** Both sockets to a running program; made once for each. */
  async #connect(running: Running<Contact>, within: number): Promise<void> {
    if (this.#wires?.running !== running) {
      if (!running.adopted && (await this.#greet(running.contact.port)) === 'strange') {
        await this.#supervisor.stop()
        throw new HermesFault('wrong_profile', `Hermes Agent opened another profile than ${this.parts.profile.name}.`)
      }
      if (this.#supervisor.running !== running) throw new HermesFault('lost', 'Hermes has ended.')
      if (this.#wires?.running !== running) this.#open(running)
    }
    const { owner, control } = this.#wires!
    await Promise.all([owner.ready(within), control.ready(within)])
  }

  #open(running: Running<Contact>): void {
    this.#disconnect()
    const { contact } = running
    const { timers } = this.parts
    const owner = new Wire({ contact, timers, event: (heard) => this.#router.take(heard), lost: () => this.#socketLost() })
    // Its events would be those of sessions that it moved to itself, which it never does.
    const control = new Wire({ contact, timers, event: () => undefined, lost: () => undefined })
    this.#wires = { owner, control, running }
    this.#look()
  }

  #disconnect(): void {
    this.#stopLooking()
    const wires = this.#wires
    this.#wires = null
    wires?.owner.end()
    wires?.control.end()
  }

  #socketLost(): void {
    this.#router.forget()
    this.#tell('socket')
  }

  #programEnded(): void {
    this.#disconnect()
    this.#router.forget()
    this.#tell('program')
  }

  #tell(loss: 'socket' | 'program'): void {
    for (const listener of [...this.#losses]) listener(loss)
  }

  /** Whose home it serves, asked without the token. */
  async #greet(port: number): Promise<'ours' | 'strange'> {
    const { version, home } = await this.parts.rest.status(port)
    this.#version = version
    // Older ones do not say; their arguments name the profile.
    if (home === undefined) return 'ours'
    const [theirs, ours] = await Promise.all([home, this.parts.profile.home].map((path) => realpath(path).catch(() => path)))
    return theirs === ours ? 'ours' : 'strange'
  }

  async #rest<T>(ask: (where: Contact) => Promise<T>): Promise<T> {
    const running = this.#wires?.running
    if (!running) throw new HermesFault('lost', 'Hermes does not run.')
    this.#used = this.parts.timers.monotonic()
    return await ask(running.contact)
  }

  /** Asks for life while it is silent, and ends it when nobody needs it. */
  #look(): void {
    const { timers, patience } = this.parts
    let cancel = (): void => undefined
    let over = false
    const look = async (): Promise<void> => {
      const heard = Math.max(this.#wires?.owner.heard ?? 0, this.#wires?.control.heard ?? 0)
      if (timers.monotonic() - heard >= patience.silence) await this.#lives()
      if (!over) await this.#endIfIdle().catch(this.parts.report)
      if (!over) cancel = timers.after(patience.look, () => void look())
    }
    cancel = timers.after(patience.look, () => void look())
    this.#stopLooking = () => {
      over = true
      cancel()
    }
  }

  /** Whether it answers anything at all: the answer, or any frame since the question. */
  #lives(): Promise<boolean> {
    return (this.#life ??= this.#askLife().finally(() => (this.#life = null)))
  }

  async #askLife(): Promise<boolean> {
    const wires = this.#wires
    if (!wires) return true
    const { life } = this.parts.patience
    const since = this.parts.timers.monotonic()
    try {
      await wires.control.call('config.get', { key: 'mtime' }, life)
      this.#supervisor.degrade(null)
      return true
    } catch (error) {
      // An error of its own is life, and a socket that was lost is made anew.
      const silent = error instanceof HermesFault && error.code === 'slow' && Math.max(wires.owner.heard, wires.control.heard) < since
      if (this.#wires === wires) this.#supervisor.degrade(silent ? `Hermes Agent has not answered for ${Math.round(life / 1000)} seconds` : null)
      return !silent
    }
  }

  async #endIfIdle(): Promise<void> {
    const { timers, patience } = this.parts
    const idle = (): boolean => this.#calls === 0 && this.#router.listeners === 0 && timers.monotonic() - this.#used >= patience.idle
    const running = this.#supervisor.running
    // One that has been silent for so long as well keeps nothing that could be had.
    if (!running || !idle() || (await this.#busy().catch(() => [])).length > 0 || (await this.#hasProcesses(running)) || !idle()) return
    await this.#supervisor.stop()
  }

  /** Turns that were told to end have a moment for it. What gives no answer works on nothing that could be had. */
  async #stillWorks(running: Running<Contact>): Promise<boolean> {
    const { timers } = this.parts
    try {
      await this.#connect(running, this.parts.patience.interrupt)
      for (const end = timers.monotonic() + this.parts.patience.interrupt; (await this.#busy()).length > 0; await new Promise<void>((resolve) => void timers.after(100, resolve))) if (timers.monotonic() >= end) return true
      return false
    } catch {
      return false
    }
  }

  /** Live ids of sessions that do something. */
  async #busy(): Promise<string[]> {
    const answer = await this.#wires?.control.call('session.active_list', {}, this.parts.patience.interrupt)
    return (METHODS['session.active_list'].result.parse(answer ?? {}).sessions ?? []).filter(({ status }) => status !== 'idle').map(({ id }) => id)
  }

  /** Processes that it keeps in the background, such as a server that a chat has started. */
  async #hasProcesses(running: Running<Contact>): Promise<boolean> {
    return (await this.parts.facts.children(running.pid)).some((args) => !args.includes(HELPER))
  }

  /** The ladder from its top: running turns are interrupted first, because commands that they run outlive the program (spec/hermes-rpc.md §0, trap 14). */
  async #stop(): Promise<void> {
    const { timers } = this.parts
    const busy = (): Promise<string[]> => this.#busy().catch(() => [])
    const control = this.#wires?.control
    const running = control ? await busy() : []
    if (control) await Promise.all(running.map((session_id) => control.call('session.interrupt', { session_id }, this.parts.patience.interrupt).catch(() => undefined)))
    for (const end = timers.monotonic() + this.parts.patience.interrupt; running.length > 0 && timers.monotonic() < end && (await busy()).length > 0; ) await new Promise<void>((resolve) => void timers.after(100, resolve))
    await this.#supervisor.stop()
  }
}
