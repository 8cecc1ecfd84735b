import type { HermesProgram, StoredSession } from '../../server/agents/hermes/port'
import { parseEvent } from '../../server/agents/hermes/protocol/events'
import { METHODS } from '../../server/agents/hermes/protocol/methods'
import type { Method, Params, Result } from '../../server/agents/hermes/protocol/methods'
import { HermesFault } from '../../server/agents/hermes/port'
import type { HermesEvent } from '../../server/agents/hermes/protocol/events'
import type { HermesMessage } from '../../server/agents/hermes/protocol/rest'

type Answer = (params: Record<string, unknown>) => unknown

/** A Hermes program that does what a test says: it answers calls, says events, and is lost. Parameters and answers go through the real schemas. */
export class HermesPuppet implements HermesProgram {
  calls: { method: Method; params: Record<string, unknown> }[] = []
  answers: Partial<Record<Method, Answer>>
  rows: HermesMessage[] = []
  counters: StoredSession['counters'] = {}
  lives = new Map<string, (event: HermesEvent) => void | Promise<void>>()
  adopted = true
  #losses = new Set<(loss: 'socket' | 'program') => void>()
  #sessions = 0

  constructor(readonly cwd: string) {
    this.answers = {
      'session.create': () => ({ session_id: `live${++this.#sessions}`, stored_session_id: `stored${this.#sessions}`, info: this.info(`stored${this.#sessions}`) }),
      'session.resume': ({ session_id: stored }) => ({ session_id: `live${++this.#sessions}`, session_key: stored, running: false, info: this.info(String(stored)) }),
      'prompt.submit': () => ({ status: 'streaming' }),
      'session.active_list': () => ({ sessions: [] }),
      'session.interrupt': () => ({ status: 'interrupted' }),
      'session.close': () => ({ closed: true }),
      'session.steer': () => ({ status: 'queued' }),
      'session.cwd.set': () => ({ cwd: this.cwd }),
      'approval.respond': () => ({ resolved: 1 }),
      'clarify.respond': () => ({ status: 'ok' }),
      'sudo.respond': () => ({ status: 'ok' }),
      'config.set': () => ({ value: 'set' }),
    }
  }

  info(stored: string): object {
    return { model: 'm', provider: 'p', cwd: this.cwd, profile_name: 'default', stored_session_id: stored }
  }

  ready = async (): Promise<void> => undefined
  adopt = async (): Promise<boolean> => this.adopted
  approvalTimeout = async (): Promise<number> => 60_000

  async call<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    const asked = METHODS[method].params.parse(params) as Record<string, unknown>
    this.calls.push({ method, params: asked })
    const answer = this.answers[method]
    if (!answer) throw new HermesFault('rpc', `Nobody answers ${method}`, -32601)
    return METHODS[method].result.parse(await answer(asked)) as Result<M>
  }

  listen(live: string, listener: (event: HermesEvent) => void | Promise<void>): () => void {
    this.lives.set(live, listener)
    return () => void (this.lives.get(live) === listener && this.lives.delete(live))
  }

  onLoss(listener: (loss: 'socket' | 'program') => void): () => void {
    this.#losses.add(listener)
    return () => this.#losses.delete(listener)
  }

  lose(loss: 'socket' | 'program'): void {
    for (const listener of [...this.#losses]) listener(loss)
  }

  messages = async (): Promise<HermesMessage[] | null> => this.rows
  stored = async (id: string): Promise<StoredSession | null> => ({ id, counters: { ...this.counters }, messages: this.rows.length })
  importSession = async (): Promise<string> => 'imported'
  status = (): ReturnType<HermesProgram['status']> => ({ state: 'ready', restarts: 0, log: '' })
  restart = async (): Promise<void> => undefined
  end = async (): Promise<void> => undefined

  /** Says an event of the newest live session, as a frame would. */
  async say(type: string, payload?: object): Promise<void> {
    const [live] = [...this.lives.keys()].toReversed()
    if (live === undefined) throw new Error('Nobody listens.')
    const heard = parseEvent({ method: 'event', params: { type, session_id: live, ...(payload ? { payload } : {}) } })
    if (!heard?.event) throw new Error(`${type} is not understood`)
    await this.lives.get(live)!(heard.event)
  }

  called(method: Method): Record<string, unknown>[] {
    return this.calls.filter((each) => each.method === method).map(({ params }) => params)
  }
}
