import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HermesFault } from '../../../../../server/agents/hermes/port'
import type { HermesProgram } from '../../../../../server/agents/hermes/port'
import { makeHermesPrograms } from '../../../../../server/agents/hermes/programs'
import type { HermesPrograms, HermesProgramsParts } from '../../../../../server/agents/hermes/programs'
import type { HermesEvent } from '../../../../../server/agents/hermes/protocol/events'
import { systemFacts } from '../../../../../server/agents/supervise/facts'
import { systemTimers } from '../../../../../server/runs/timers'

const standIn = fileURLToPath(new URL('stand-in.mjs', import.meta.url))
const facts = systemFacts()
const linux = process.platform === 'linux'

async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10))) {
    const found = await look()
    if (found) return found
  }
  throw new Error(`It did not come about: ${what}`)
}

const code = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', (error: unknown) => (error instanceof HermesFault ? error.code : String(error)))

describe('Hermes as a program', { timeout: 60_000 }, () => {
  let folder: string
  let made: HermesPrograms[]
  let reported: unknown[]

  beforeEach(() => {
    chmodSync(standIn, 0o755)
    folder = mkdtempSync(join(tmpdir(), 'talaria-hermes-'))
    mkdirSync(join(folder, 'agent/venv/bin'), { recursive: true })
    mkdirSync(join(folder, 'root/profiles/work'), { recursive: true })
    symlinkSync(standIn, join(folder, 'agent/venv/bin/hermes'))
    made = []
    reported = []
  })
  afterEach(async () => {
    for (const programs of made) await programs.end()
    // What a test left running on purpose, by the numbers that it said itself.
    for (const { start } of calls()) if (typeof start === 'number' && (await facts.command(start))?.includes('serve')) process.kill(start, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const behave = (does: Record<string, unknown>): void => writeFileSync(join(folder, 'agent/venv/bin/hermes.json'), JSON.stringify(does))
  const profile = (name = 'default') => {
    const home = name === 'default' ? join(folder, 'root') : join(folder, 'root/profiles', name)
    return { name, home, scope: home, env: { OPENAI_API_KEY: 'sk-of-the-profile' }, isLaunch: true }
  }
  const programs = (more: Partial<HermesProgramsParts> = {}): HermesPrograms => {
    const one = makeHermesPrograms({
      timers: systemTimers(), facts, folder: join(folder, 'state'), homedir: join(folder, 'person'), managed: true, report: (error) => reported.push(error),
      env: { PATH: process.env.PATH, HERMES_WEBUI_AGENT_DIR: join(folder, 'agent'), OPENAI_API_KEY: 'sk-of-the-shell', HERMES_HOME: '/elsewhere', LC_TIME: 'de_DE', https_proxy: 'http://proxy:1' },
      ...more,
    })
    made.push(one)
    return one
  }
  const program = (more: Partial<HermesProgramsParts> = {}): HermesProgram => programs(more).of(profile())
  interface Call { start?: number; args?: string[]; status?: string | null; http?: string; open?: number; socket?: number; method?: string; params?: unknown }
  const calls = (): Call[] => (existsSync(join(folder, 'root/calls')) ? readFileSync(join(folder, 'root/calls'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Call) : [])
  const starts = (): number[] => calls().flatMap(({ start }) => (start === undefined ? [] : [start]))
  const said = (events: HermesEvent[]): string => events.flatMap((event) => (event.type === 'message.delta' ? [event.payload.text] : [])).join('')
  const hear = (hermes: HermesProgram, live: string): HermesEvent[] => {
    const events: HermesEvent[] = []
    hermes.listen(live, (event) => void events.push(event))
    return events
  }

  it('is found by its own word, and nothing is started for that', async () => {
    expect(await programs().find()).toEqual({ state: 'found', path: join(folder, 'agent/venv/bin/hermes'), version: '0.19.0', untested: false })
    behave({ version: 'Hermes Agent v0.18.3' })
    expect(await programs().find()).toMatchObject({ state: 'found', version: '0.18.3', untested: true })
    behave({ version: 'Hermes Agent v0.16.0' })
    expect(await programs().find()).toMatchObject({ state: 'too_old', version: '0.16.0' })
    expect(await code(program().ready())).toBe('too_old')
    behave({ version: 'Hermes JavaScript compiler 0.19.0' })
    expect(await programs().find()).toEqual({ state: 'missing', named: join(folder, 'agent') })
    expect(await code(program().ready())).toBe('not_installed')
    expect(starts()).toEqual([])
  })

  it('starts with the profile by name, the root home, and a token that no argument tells', async () => {
    const all = programs()
    const hermes = all.of(profile('work'))
    expect(all.of(profile('work'))).toBe(hermes)
    await hermes.ready()
    const [{ args, start }] = calls() as [{ args: string[]; start: number }]
    expect(args).toEqual(['-p', 'work', 'serve', '--isolated', '--host', '127.0.0.1', '--port', '0'])
    expect(hermes.status()).toMatchObject({ state: 'ready', pid: start, version: '0.19.0', restarts: 0 })
    // Asked whose it is without the token.
    expect(calls().filter((call) => 'status' in call).map(({ status }) => status)).toContain(null)
    expect(calls().filter((call) => 'status' in call).every(({ status }) => status === null)).toBe(true)
  })

  it.runIf(linux)('sees nothing of the shell that started us but what it needs: no key, no other home', async () => {
    await program().ready()
    const entries = Object.fromEntries(readFileSync(`/proc/${starts()[0]}/environ`, 'utf8').split('\0').filter(Boolean).map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
    expect(Object.keys(entries).sort()).toEqual(['HERMES_DASHBOARD_SESSION_TOKEN', 'HERMES_HOME', 'HERMES_MANAGED_DIR', 'HERMES_TUI_TOOL_PROGRESS', 'HOME', 'LANG', 'LC_TIME', 'PATH', 'PYTHONUNBUFFERED', 'https_proxy'])
    expect(entries).toMatchObject({ HERMES_HOME: join(folder, 'root'), HOME: join(folder, 'person'), HERMES_TUI_TOOL_PROGRESS: 'verbose' })
    expect(readFileSync(join(entries.HERMES_MANAGED_DIR!, 'config.yaml'), 'utf8')).toBe('approvals:\n  timeout: 3600\ndisplay:\n  busy_input_mode: queue\n')
    expect((await facts.command(starts()[0]!))!.join(' ')).not.toContain(entries.HERMES_DASHBOARD_SESSION_TOKEN)
    // No name of a profile or a session is a name of a folder.
    expect(readdirSync(join(folder, 'state')).filter((name) => name !== 'version')).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/)])
  })

  it('says how long an approval waits: by the layer, an administrator, the profile, or Hermes itself', async () => {
    const off = { managed: false }
    expect(await program(off).approvalTimeout()).toBe(60_000)
    writeFileSync(join(folder, 'root/config.yaml'), 'approvals:\n  timeout: 90\n')
    expect(await program(off).approvalTimeout()).toBe(90_000)
    const ours = program()
    await ours.ready()
    expect(await ours.approvalTimeout()).toBe(3_600_000)
    // Of a program that was started without it, also by another server since.
    await ours.end()
    const without = program(off)
    await without.ready()
    expect(await without.approvalTimeout()).toBe(90_000)
  })

  it('does not start for a profile that is not there, and makes none', async () => {
    expect(await code(programs().of(profile('ghost')).ready())).toBe('unknown_profile')
    expect(existsSync(join(folder, 'root/profiles/ghost'))).toBe(false)
    rmSync(join(folder, 'root'), { recursive: true })
    expect(await code(program().ready())).toBe('unconfigured')
    expect(existsSync(join(folder, 'root'))).toBe(false)
  })

  it('that lacks parts of itself says so; so does one that opened another profile, and that is ended', async () => {
    behave({ bare: true })
    const bare = program()
    expect(await code(bare.ready())).toBe('extras_missing')
    expect(bare.status().words).toContain('Web UI dependencies not installed')
    behave({ home: '/somewhere/else' })
    expect(await code(program().ready())).toBe('wrong_profile')
    for (const pid of starts()) expect(await facts.command(pid)).toBeNull()
  })

  it('of a version that does not say its home is known by its arguments', async () => {
    behave({ homeless: true, says: '0.18.1' })
    const hermes = program()
    await hermes.ready()
    expect(hermes.status().version).toBe('0.18.1')
  })

  it('is called over two sockets, and what moves a session only ever over the first', async () => {
    const hermes = program()
    await hermes.ready()
    const { session_id } = await hermes.call('session.create', { cwd: '/w', source: 'webui' })
    await hermes.call('prompt.submit', { session_id, text: 'hello' })
    await hermes.call('session.resume', { session_id: 'kept' })
    await hermes.call('session.active_list', {})
    await hermes.call('session.interrupt', { session_id })
    const sockets = (names: string[]): (number | undefined)[] => [...new Set(calls().filter(({ method }) => method !== undefined && names.includes(method)).map(({ socket }) => socket))]
    const owner = sockets(['session.create', 'prompt.submit', 'session.resume'])
    const control = sockets(['session.active_list', 'session.interrupt'])
    expect([owner.length, control.length]).toEqual([1, 1])
    expect(owner).not.toEqual(control)
  })

  it('is never asked what is not of the right form, and no answer of the wrong form is taken', async () => {
    const hermes = program()
    expect(await code(hermes.call('session.active_list', {}))).toBe('lost')
    await hermes.ready()
    const methods = (): Call[] => calls().filter(({ method }) => method !== undefined)
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 5 } as never))).toBe('garbled')
    expect(await code(hermes.call('approval.respond', { session_id: 'x', choice: 'bogus' } as never))).toBe('garbled')
    expect(await code(hermes.call('session.active_list', {}))).toBe('done')
    expect(methods().map(({ method }) => method)).toEqual(['session.active_list'])
    expect(await code(hermes.call('session.title', { session_id: 'x' }))).toBe('garbled')
    const refused = await hermes.call('session.close', { session_id: 'x' }).catch((error: unknown) => error as HermesFault)
    expect(refused).toMatchObject({ code: 'rpc', number: 4001, message: 'session not found' })
    expect(await code(hermes.call('session.steer', { session_id: 'x', text: 'x' }, { within: 30 }))).toBe('slow')
    // More than Hermes takes would cost the socket.
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 'y'.repeat(16 * 1024 * 1024) }))).toBe('garbled')
    expect(await code(hermes.call('session.active_list', {}))).toBe('done')
  })

  it('tells the events of each session in order, one after the other, and the whole connection waits for who cannot keep up', async () => {
    const hermes = program()
    await hermes.ready()
    const events: HermesEvent[] = []
    let busy = 0
    let most = 0
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    hermes.listen('a', async (event) => {
      most = Math.max(most, ++busy)
      if (events.length === 10) await gate
      events.push(event)
      busy--
    })
    const other = hear(hermes, 'b')
    await hermes.call('prompt.submit', { session_id: 'a', text: 'count 3000' })
    await until('it is held up', () => busy === 1 && events.length === 10)
    // The other socket is not.
    expect(await code(hermes.call('session.active_list', {}))).toBe('done')
    const late = hermes.call('prompt.submit', { session_id: 'b', text: 'count 3' })
    open()
    await late
    await until('all of it is told', () => events.length === 3000 && other.length === 3)
    expect(said(events)).toBe(Array.from({ length: 3000 }, (_, index) => `${index} `).join(''))
    expect(most).toBe(1)
  })

  it('keeps what comes right after a resume until somebody listens, and not what the answer already says', async () => {
    const hermes = program()
    await hermes.ready()
    // Nobody listens to this session yet.
    await hermes.call('prompt.submit', { session_id: 'x', text: 'count 5' })
    await hermes.call('session.active_list', {})
    const { inflight } = await hermes.call('session.resume', { session_id: 'x' })
    expect(inflight?.assistant).toBe('so far')
    const events = hear(hermes, 'x')
    await until('they are told', () => events.length === 2)
    expect(said(events)).toBe('before after ')
    expect(reported).toEqual([])
  })

  it('goes on when a listener throws or rejects', async () => {
    const hermes = program()
    await hermes.ready()
    let heard = 0
    hermes.listen('x', () => {
      if (++heard === 1) throw new Error('one')
      return heard === 2 ? Promise.reject(new Error('two')) : undefined
    })
    await hermes.call('prompt.submit', { session_id: 'x', text: 'count 4' })
    await until('all were told', () => heard === 4)
    expect(reported.map((error) => (error as Error).message)).toEqual(['one', 'two'])
  })

  it('ignores frames that it cannot read, and events of tomorrow', async () => {
    const hermes = program()
    await hermes.ready()
    const events = hear(hermes, 'x')
    await hermes.call('prompt.submit', { session_id: 'x', text: 'garbage' })
    await hermes.call('prompt.submit', { session_id: 'x', text: 'count 1' })
    await until('the one that can be read is told', () => events.length > 0)
    expect(events).toEqual([{ type: 'message.delta', payload: { text: '0 ' } }])
    expect(hermes.status().state).toBe('ready')
  })

  it('that loses a socket says so, fails what was asked on it, and has a new one soon', async () => {
    const hermes = program()
    await hermes.ready()
    const losses: string[] = []
    hermes.onLoss((loss) => losses.push(loss))
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 'drop' }))).toBe('lost')
    expect(losses).toEqual(['socket'])
    await hermes.ready()
    const events = hear(hermes, 'x')
    await hermes.call('prompt.submit', { session_id: 'x', text: 'count 2' })
    await until('it is told', () => events.length === 2)
    expect(starts()).toHaveLength(1)
    // A frame that is larger than anything it may send costs the socket, and nothing else.
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 'huge' }))).toBe('lost')
    await hermes.ready()
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 'x' }))).toBe('done')
  })

  it('that ends by itself says so, and is there again for whoever still listens', async () => {
    const hermes = program()
    await hermes.ready()
    const losses: string[] = []
    hermes.onLoss((loss) => losses.push(loss))
    hear(hermes, 'x')
    expect(await code(hermes.call('prompt.submit', { session_id: 'x', text: 'die' }))).toBe('lost')
    await until('its end is told', () => losses.includes('program'))
    await until('it is there again', () => hermes.status().state === 'ready' && starts().length === 2)
    expect(hermes.status().restarts).toBe(1)
    await hermes.ready()
    expect(starts()).toHaveLength(2)
    expect(await code(hermes.call('session.active_list', {}))).toBe('done')
  })

  it('that hangs is shown as degraded, and a new turn gets a new one', async () => {
    const hermes = program({ patience: { silence: 100, life: 200, look: 30, interrupt: 100 } })
    await hermes.ready()
    await code(hermes.call('prompt.submit', { session_id: 'x', text: 'hang' }, { within: 50 }))
    await until('it is noticed', () => hermes.status().state === 'degraded')
    expect(hermes.status().words).toBe('Hermes Agent has not answered for 0 seconds')
    const [first] = starts()
    await hermes.ready()
    expect(starts()).toHaveLength(2)
    if (linux) expect(await facts.command(first!)).toBeNull()
    await until('it answers', () => hermes.status().state === 'ready')
  })

  it('that is only silent is asked for life and stays', async () => {
    const hermes = program({ patience: { silence: 50, look: 20 } })
    await hermes.ready()
    await until('it was asked more than once', () => calls().filter(({ method }) => method === 'config.get').length > 2)
    expect(hermes.status().state).toBe('ready')
    expect(starts()).toHaveLength(1)
  })

  it('shows nothing of what it writes to its output', async () => {
    const hermes = program()
    await hermes.ready()
    await hermes.call('prompt.submit', { session_id: 'x', text: 'leak' })
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect(hermes.status().log).toBe('')
  })

  it('ends with us when nothing runs in it, and its next user starts another', async () => {
    const hermes = program()
    await hermes.ready()
    await hermes.end()
    expect(hermes.status().state).toBe('idle')
    expect(await code(hermes.ready())).toBe('lost')
    if (linux) expect(await facts.command(starts()[0]!)).toBeNull()
    const next = program()
    expect(await next.adopt()).toBe(false)
    await next.ready()
    expect(starts()).toHaveLength(2)
  })

  it.runIf(linux)('outlives us while a turn runs in it, and the next server takes it up', async () => {
    behave({ busy: ['live'], stubborn: true })
    const first = program()
    await first.ready()
    await first.end()
    const [pid] = starts()
    expect(await facts.command(pid!)).not.toBeNull()
    const all = programs()
    await all.adopt([profile(), profile('work')])
    const next = all.of(profile())
    expect(await next.adopt()).toBe(true)
    expect(next.status()).toMatchObject({ state: 'ready', pid })
    await next.ready()
    expect(starts()).toEqual([pid])
    expect((await next.call('session.active_list', {})).sessions).toHaveLength(1)
  })

  it.runIf(linux)('that an earlier server left and nobody has used since ends with this one', async () => {
    behave({ busy: ['live'] })
    const first = program()
    await first.ready()
    await first.end()
    const second = program()
    await second.adopt()
    await second.call('session.interrupt', { session_id: 'live' })
    await second.end()
    expect(await facts.command(starts()[0]!)).toBeNull()
  })

  it.runIf(linux)('is interrupted before it is restarted', async () => {
    behave({ busy: ['live'] })
    const hermes = program()
    await hermes.ready()
    const losses: string[] = []
    hermes.onLoss((loss) => losses.push(loss))
    await hermes.restart()
    expect(calls().filter(({ method }) => method === 'session.interrupt').map(({ params }) => params)).toEqual([{ session_id: 'live' }])
    expect(starts()).toHaveLength(2)
    expect(losses).toEqual(['program'])
    expect(hermes.status()).toMatchObject({ state: 'ready', restarts: 0 })
  })

  it('is ended when nobody needs it, and not while somebody does', async () => {
    const patience = { idle: 150, look: 30 }
    const hermes = program({ patience })
    await hermes.ready()
    const deaf = hermes.listen('x', () => undefined)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(hermes.status().state).toBe('ready')
    deaf()
    await until('it is ended', () => hermes.status().state === 'idle')
    await hermes.ready()
    expect(starts()).toHaveLength(2)
  })

  it.runIf(linux)('with a process of its own in the background is not idle; the helpers of its sessions are none', async () => {
    const patience = { idle: 100, look: 30 }
    behave({ background: true })
    const working = program({ patience })
    await working.ready()
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(working.status().state).toBe('ready')
    await working.end()
    behave({ helper: true })
    const helped = program({ patience })
    await helped.ready()
    await until('it is ended', () => helped.status().state === 'idle')
  })

  it('gives stored sessions and their rows by its other door, and nothing where there is none', async () => {
    const hermes = program({ patience: { call: 1_000 } })
    expect(await code(hermes.messages('kept'))).toBe('lost')
    await hermes.ready()
    expect(await hermes.stored('kept')).toEqual({ id: 'kept', title: 'Kept', cwd: '/w', model: 'm', messages: 2, counters: { input: 5, output: 6, cached: 0 } })
    expect((await hermes.messages('kept'))?.map(({ id, role, content }) => [id, role, content])).toEqual([[1, 'user', 'hello'], [2, 'assistant', 'hi']])
    for (const id of ['ke', 'none', '../../status', '']) expect([await hermes.stored(id), await hermes.messages(id)], id).toEqual([null, null])
    expect(calls().map(({ http }) => http)).toContain('GET /api/sessions/..%2F..%2Fstatus/messages')
    expect([await code(hermes.stored('elsewhere')), await code(hermes.stored('broken'))]).toEqual(['garbled', 'garbled'])
  })

  it('takes a conversation under a new id, under its title where that is free', async () => {
    const hermes = program()
    await hermes.ready()
    const messages = [{ role: 'user' as const, content: 'My name is Bob' }, { role: 'assistant' as const, content: 'Hello Bob ✓' }]
    const id = await hermes.importSession({ title: 'Bob', cwd: '/w', messages })
    expect(id).toMatch(/^\d{8}_\d{6}_[0-9a-f]{6}$/)
    expect(await hermes.stored(id)).toMatchObject({ id, title: 'Bob', cwd: '/w' })
    expect((await hermes.messages(id))?.map(({ role, content }) => ({ role, content }))).toEqual(messages)
    const other = await hermes.importSession({ title: 'Taken', messages })
    expect((await hermes.stored(other))?.title).toBeUndefined()
    const refused = await hermes.importSession({ messages: [] }).catch((error: unknown) => error as HermesFault)
    expect(refused).toMatchObject({ code: 'rpc', number: 400 })
    expect((refused as HermesFault).message).toContain('nothing in it')
  })
})
