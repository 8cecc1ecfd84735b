import { randomBytes } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import type { Timers } from '../port'
import type { ProgramFacts } from '../supervise/facts'
import type { ProgramKind, ProgramStatus, Running } from '../supervise/port'
import type { Launch } from '../supervise/spawn'
import { NotStarted, Supervisor } from '../supervise/supervisor'
import type { Contact } from '../supervise/supervisor'
import { serveEnvironment } from './environment'
import { Link } from './link'
import type { Patience } from './patience'
import { HermesFault } from './port'
import type { HermesProgram, StoredSession } from './port'
import type { HermesEvent } from './protocol/events'
import { METHODS } from './protocol/methods'
import type { Method, Params, Result } from './protocol/methods'
import type { HermesMessage } from './protocol/rest'
import type { HermesRest } from './rest'
import { Router } from './router'

/**
 * Numbers of Hermes (ms). Start: ready after 1.3–1.7 s (spec/hermes-rpc.md §1.2), whose §10 gives it 15 s; a cold disk gets twice that. It ends by SIGTERM within
 * 0.2 s; §10 gives it 5 s. Pauses: a port or a lock of its predecessor is free within a second; what does not run after five starts will not.
 */
export const HERMES: ProgramKind = { name: 'Hermes Agent', startWithin: 30_000, pauses: [250, 1_000, 4_000, 15_000], giveUpAfter: 5, term: 5_000, kill: 2_000 }

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
  #link: Link | null = null
  #linking: { running: Running<Contact>; done: Promise<void> } | null = null
  #router: Router
  #losses = new Set<(loss: 'socket' | 'program') => void>()
  #version: string | undefined
  #used: number
  #ended = false
  #uses = 0
  #stopLooking: () => void = () => undefined

  constructor(private readonly parts: HermesProgramParts) {
    this.#router = new Router({ pause: () => this.#link?.owner.pause(), resume: () => this.#link?.owner.resume(), report: parts.report })
    this.#used = parts.timers.monotonic()
    this.#supervisor = new Supervisor({
      kind: parts.kind ?? HERMES,
      timers: parts.timers,
      facts: parts.facts,
      folder: parts.folder,
      args: serveArgs(parts.profile.name),
      prepare: () => this.#prepare(),
      sign: (output) => Number(SIGN.exec(output)?.[1] ?? 0) || null,
      greet: (port) => this.#isOurs(port),
      wanted: () => this.#router.listeners > 0,
      runs: (running) => void this.#connect(running, this.parts.patience.connect).catch(() => undefined),
    })
    this.#supervisor.onEnd(() => {
      this.#disconnect()
      this.#router.forget()
      this.#tell('program')
    })
  }

  ready(): Promise<void> {
    return this.#using(async () => {
      if (this.#ended) throw new HermesFault('lost', 'The server ends.')
      // It has let one question pass already; it gets a moment, and not all that time again.
      if (this.#supervisor.status().state === 'degraded' && !(await this.#answers(this.parts.patience.interrupt))) {
        this.#disconnect()
        await this.#supervisor.stop()
      }
      const running = await this.#supervisor.ensure().catch((error: unknown) => {
        throw error instanceof NotStarted ? faultOf(error) : error
      })
      await this.#connect(running, this.parts.patience.connect)
    })
  }

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
    const link = this.#link
    if (!link) throw new HermesFault('lost', 'Hermes does not run.')
    const mark = this.#router.mark
    const answer = result.safeParse(await this.#using(() => link[socket].call(method, checked.data, options.within ?? this.parts.patience.call)))
    if (!answer.success) throw new HermesFault('garbled', `Hermes answered ${method} in a form that is not known.`)
    // The answer says what the session has said until now; what came since the question may be newer.
    if (method === 'session.resume') this.#router.forgetBefore((answer.data as Result<'session.resume'>).session_id, mark)
    return answer.data as Result<M>
  }

  listen(live: string, listener: (event: HermesEvent) => void | Promise<void>): () => void {
    return this.#router.listen(live, listener)
  }

  onLoss(listener: (loss: 'socket' | 'program') => void): () => void {
    this.#losses.add(listener)
    return () => this.#losses.delete(listener)
  }

  async messages(stored: string, from?: number): Promise<HermesMessage[] | null> {
    return (await this.#rest((where) => this.parts.rest.messages(where, stored, from)))?.messages ?? null
  }

  stored(stored: string): Promise<StoredSession | null> {
    return this.#rest((where) => this.parts.rest.stored(where, stored))
  }

  importSession(session: { title?: string; cwd?: string; messages: { role: 'user' | 'assistant'; content: string }[] }): Promise<string> {
    return this.#rest((where) => this.parts.rest.importSession(where, session))
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
    const working = running !== null && (await this.#works(running))
    this.#disconnect()
    if (!working) await this.#supervisor.stop()
    await this.#supervisor.leave()
  }

  async #prepare(): Promise<Launch> {
    const { profile, env, homedir } = this.parts
    const there = await stat(profile.home).then((info) => info.isDirectory(), () => false)
    // Hermes would make the folder (spec/hermes-home.md §2.3), and the person would have a profile that nobody asked for.
    if (!there) throw profile.name === 'default' ? new HermesFault('unconfigured', `Hermes Agent has no home yet: ${profile.home}`) : new HermesFault('unknown_profile', `There is no profile ${profile.name}.`)
    const { path, version } = await this.parts.find()
    this.#version = version
    const token = randomBytes(32).toString('base64url')
    return { command: path, args: serveArgs(profile.name), env: serveEnvironment(env, homedir, { root: profile.root, token, managed: await this.parts.layer() }), token, secrets: profile.secrets }
  }

  /** Both sockets to a running program; made once for each. */
  async #connect(running: Running<Contact>, within: number): Promise<void> {
    if (this.#link?.running !== running) {
      if (this.#linking?.running !== running) this.#linking = { running, done: this.#open(running) }
      await this.#linking.done
    }
    if (this.#link?.running !== running) throw new HermesFault('lost', 'Hermes has ended.')
    await this.#link.ready(within)
  }

  async #open(running: Running<Contact>): Promise<void> {
    if (!running.adopted && !(await this.#isOurs(running.contact.port))) {
      await this.#supervisor.stop()
      throw new HermesFault('wrong_profile', `Hermes Agent opened another profile than ${this.parts.profile.name}.`)
    }
    if (this.#supervisor.running !== running) return
    this.#disconnect()
    this.#link = new Link(running, {
      timers: this.parts.timers,
      event: (heard) => this.#router.take(heard),
      lost: () => {
        this.#router.forget()
        this.#tell('socket')
      },
    })
    this.#look()
  }

  #disconnect(): void {
    this.#stopLooking()
    const link = this.#link
    this.#link = null
    link?.end()
  }

  #tell(loss: 'socket' | 'program'): void {
    for (const listener of [...this.#losses]) listener(loss)
  }

  /** Whose home it serves, asked without the token. */
  async #isOurs(port: number): Promise<boolean> {
    const { version, home } = await this.parts.rest.status(port)
    this.#version = version
    // Older ones do not say; their arguments name the profile.
    if (home === undefined) return true
    const [theirs, ours] = await Promise.all([home, this.parts.profile.home].map((path) => realpath(path).catch(() => path)))
    return theirs === ours
  }

  async #rest<T>(ask: (where: Contact) => Promise<T>): Promise<T> {
    const link = this.#link
    if (!link) throw new HermesFault('lost', 'Hermes does not run.')
    return await this.#using(() => ask(link.running.contact))
  }

  /** While somebody waits for it, it is not idle. */
  async #using<T>(work: () => Promise<T>): Promise<T> {
    this.#uses++
    try {
      return await work()
    } finally {
      this.#uses--
      this.#used = this.parts.timers.monotonic()
    }
  }

  /** Asks for life while it is silent, and ends it when nobody needs it. */
  #look(): void {
    const { timers, patience } = this.parts
    let cancel = (): void => undefined
    let over = false
    const look = async (): Promise<void> => {
      if (timers.monotonic() - (this.#link?.heard ?? 0) >= patience.silence) await this.#answers(patience.life)
      if (!over) await this.#endIfIdle().catch(this.parts.report)
      if (!over) cancel = timers.after(patience.look, () => void look())
    }
    cancel = timers.after(patience.look, () => void look())
    this.#stopLooking = () => {
      over = true
      cancel()
    }
  }

  /** Whether it answers anything at all: the answer, or any frame since the question. An error of its own is life, and a socket that was lost is made anew. */
  async #answers(within: number): Promise<boolean> {
    const link = this.#link
    if (!link) return true
    const since = this.parts.timers.monotonic()
    const silent = await link.control.call('config.get', { key: 'mtime' }, within).then(
      () => false,
      (error: unknown) => error instanceof HermesFault && error.code === 'slow' && link.heard < since,
    )
    if (this.#link === link) this.#supervisor.degrade(silent ? `Hermes Agent has not answered for ${Math.round(within / 1000)} seconds` : null)
    return !silent
  }

  async #endIfIdle(): Promise<void> {
    const { timers, patience, facts } = this.parts
    const link = this.#link
    const idle = (): boolean => this.#uses === 0 && this.#router.listeners === 0 && timers.monotonic() - this.#used >= patience.idle
    if (!link || !idle()) return
    // One that gives no answer after such a time keeps nothing that could be had.
    if ((await link.busy(patience.interrupt).catch(() => [])).length > 0) return
    // Processes that a chat has started in the background, such as a server, live as long as it does.
    if ((await facts.children(link.running.pid)).some((args) => !args.includes(HELPER)) || !idle()) return
    await this.#supervisor.stop()
  }

  /** Whether turns run in it. Those that were told to end have a moment for it; what gives no answer works on nothing that could be had. */
  async #works(running: Running<Contact>): Promise<boolean> {
    const { timers, patience } = this.parts
    try {
      await this.#connect(running, patience.interrupt)
      return !(await this.#link!.idle(patience.interrupt, timers))
    } catch {
      return false
    }
  }

  /** The ladder from its top: running turns are interrupted first, because commands that they run would outlive the program (spec/hermes-rpc.md §0, trap 14). */
  async #stop(): Promise<void> {
    await this.#link?.interrupt(this.parts.patience.interrupt, this.parts.timers)
    this.#disconnect()
    await this.#supervisor.stop()
  }
}

function faultOf(error: NotStarted): HermesFault {
  // What `hermes serve` says without them.
  return new HermesFault(/dependencies not installed/i.test(error.message) ? 'extras_missing' : 'does_not_start', error.message)
}
