import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { endLeftovers, RUN_MARK, startTimeOf, systemProcesses } from '../../../../server/runs/processes'
import { Puppet } from '../../../support/puppet'
import { checkInvariants } from '../../../support/invariants'
import { settle } from '../../../support/fake-timers'
import { answerText, runsRig } from '../../../support/runs-rig'
import { codeOf } from './code-of'

const SCRIPT = '[[reason:Let me look at it.]][[tool:read {"verb":"read","ms":40}]][[say:Some words now.]][[ask:ls -l]][[deltas:200]]'

describe('a restart', () => {
  it('settles a live run after a crash at any commit, keeps what was shown, and settles nothing twice', async () => {
    let commits = 0
    // The first round does not crash: it tells how many commits there are.
    for (let n = 0; n <= commits; n++) {
      const rig = runsRig()
      const session = await rig.chat()
      let seen = 0
      let shown = 0
      rig.model.onCommit((batch) => {
        for (const entry of batch) shown = Math.max(shown, entry.events.at(-1)!.seq)
        if (++seen === n) rig.model.crash()
      })
      await rig.send(session, SCRIPT)
      for (let i = 0; i < 200; i++) {
        await rig.timers.advance(20)
        await rig.runs.decide(rig.profile, { session, choice: 'once' }).catch(() => undefined)
      }
      commits = Math.max(commits, seen)
      rig.model.crash()

      const heir = runsRig({ disk: rig.model.disk, seed: n + 100 })
      const before = await heir.events(session)
      expect(before.length).toBeGreaterThanOrEqual(shown)
      await heir.runs.recover()
      expect(await heir.runs.recover()).toEqual({ runs: 0, processes: 0 })
      const events = await heir.events(session)
      expect(events.slice(0, before.length)).toEqual(before)
      const value = await heir.transcript(session)
      expect(checkInvariants(value)).toEqual([])
      expect([...value.rows.values()].filter((row) => row.state === 'live')).toEqual([])
      expect(events.filter((event) => event.type === 'run.settled').length).toBe(events.filter((event) => event.type === 'run.started').length)
      const next = await heir.send(session, '[[say:Works.]]')
      expect(await heir.settled(next)).toMatchObject({ outcome: 'completed' })
      await heir.store.close()
    }
    expect(commits).toBeGreaterThan(8)
  })

  it('with a full disk starts all the same, settles the run as soon as there is room, and starts no other beside it', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    const started = await rig.send(session, '[[say:Kept text]][[silence]]')
    await rig.until(async () => (await rig.answer(session)) === 'Kept text')
    const heir = runsRig({ disk: rig.model.crash(), seed: 2 })
    heir.model.fault = () => 'full'
    expect(await heir.runs.recover()).toMatchObject({ runs: 1 })
    expect(await codeOf(heir.send(session, 'x'))).toBe('store_full')
    await heir.timers.advance(60_000)
    expect(await heir.runOf(started)).toMatchObject({ state: 'running' })
    heir.model.fault = () => undefined
    await heir.until(async () => (await heir.runOf(started)).state === 'settled', 1000)
    expect(await heir.runOf(started)).toMatchObject({ outcome: 'interrupted', problem: { code: 'server_restarted' } })
    expect(await heir.answer(session)).toBe('Kept text')
    expect(await heir.settled(await heir.send(session, '[[say:Works.]]'))).toMatchObject({ outcome: 'completed' })
    expect((await heir.events(session)).filter((event) => event.type === 'run.settled')).toHaveLength(2)
  })

  it('with a full disk that has room again when the next message comes settles first, and takes it', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    await rig.send(session, '[[silence]]')
    const heir = runsRig({ disk: rig.model.crash(), seed: 2 })
    heir.model.failAppend(1, 'full')
    await heir.runs.recover()
    expect(await heir.settled(await heir.send(session, '[[say:Works.]]'))).toMatchObject({ outcome: 'completed' })
    await heir.timers.advance(60_000)
    expect((await heir.events(session)).flatMap((event) => (event.type === 'run.settled' ? [event.outcome] : []))).toEqual(['interrupted', 'completed'])
  })

  it('with a full disk never takes the run that started meanwhile for the old one', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    await rig.send(session, '[[silence]]')
    const heir = runsRig({ disk: rig.model.crash(), seed: 2 })
    heir.model.failAppend(1, 'full')
    await heir.runs.recover()
    const started = await heir.send(session, '[[silence]]')
    await heir.timers.advance(60_000)
    expect(await heir.runOf(started)).toMatchObject({ state: 'running' })
    await heir.runs.stop(heir.profile, started.run, 'person')
    expect(await heir.settled(started)).toMatchObject({ outcome: 'cancelled' })
  })

  it('says that the server restarted; a tool in flight is unknown, a question retired', async () => {
    const { heir, session, started } = await crashedWith(async (puppet) => {
      puppet.turn.emit({ type: 'text', delta: 'Kept text' })
      puppet.turn.emit({ type: 'tool.started', call: 'c', name: 'shell', verb: 'run' })
      puppet.turn.emit({ type: 'question.raised', question: 'q', call: 'c', request: { action: 'x', tool: 'shell', choices: [{ id: 'once', kind: 'once' }] } })
    })
    expect(await heir.runs.recover()).toMatchObject({ runs: 1 })
    const run = await heir.runOf(started)
    expect(run).toMatchObject({ outcome: 'interrupted', problem: { code: 'server_restarted' } })
    expect(run.finalRow).toBeUndefined()
    const rows = [...(await heir.transcript(session)).rows.values()]
    expect(rows[1]).toMatchObject({ kind: 'answer', state: 'done', text: 'Kept text' })
    expect(rows[2]).toMatchObject({ kind: 'tool', state: 'unknown', approval: { state: 'retired', why: 'run_ended' } })
    expect(await codeOf(heir.runs.decide(heir.profile, { session, choice: 'once' }))).toBe('approval_not_found')
  })

  it('settles a run that was stopping as cancelled', async () => {
    const { heir, started } = await crashedWith(async (puppet, rig, run) => {
      puppet.onStop = () => {}
      await rig.runs.stop(rig.profile, run.run, 'person')
    })
    await heir.runs.recover()
    const run = await heir.runOf(started)
    expect(run).toMatchObject({ outcome: 'cancelled' })
    expect(run.problem).toBeUndefined()
  })

  it('answers the receipts of the time before', async () => {
    const rig = runsRig({ agents: { scripted: new Puppet() } })
    const session = await rig.chat()
    const input = { session, text: 'Hello', key: 'k', bodyHash: 'h' }
    const first = await rig.runs.start(rig.profile, input)
    const heir = runsRig({ disk: rig.model.crash(), agents: { scripted: new Puppet() } })
    await heir.runs.recover()
    expect(await heir.runs.start(heir.profile, input)).toEqual(first)
    expect(heir.runs.live()).toEqual([])
  })
})

async function crashedWith(act: (puppet: Puppet, rig: ReturnType<typeof runsRig>, started: { run: string }) => Promise<void>) {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet } })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  await act(puppet, rig, started)
  await settle()
  return { heir: runsRig({ disk: rig.model.crash(), agents: { scripted: puppet } }), session, started }
}

describe("the server's own end", () => {
  it('interrupts live runs, keeps their output, ends agents and admits nothing more', async () => {
    const puppet = new Puppet()
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const started = await rig.send(session, 'Hello')
    await settle()
    puppet.turn.emit({ type: 'text', delta: 'So far' })
    await rig.runs.drain()
    expect(await rig.runOf(started)).toMatchObject({ outcome: 'interrupted', problem: { code: 'server_stopped' } })
    expect(await rig.answer(session)).toBe('So far')
    expect([puppet.turn.stops, puppet.ended]).toEqual([['server'], 1])
    expect(await codeOf(rig.send(session, 'x'))).toBe('shutting_down')
    expect(await codeOf(rig.runs.create(rig.profile, {}))).toBe('shutting_down')
  })

  it('refuses a send that was on its way when it came', async () => {
    const puppet = new Puppet()
    let probed = (): void => {}
    const ready = await puppet.probe()
    puppet.onProbe = () => new Promise((resolve) => (probed = () => resolve(ready)))
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const sent = codeOf(rig.send(session, 'Hello'))
    await settle()
    await rig.runs.drain()
    probed()
    expect(await sent).toBe('shutting_down')
    expect(await rig.events(session)).toHaveLength(1)
  })

  it('does not wait for an agent that does not end', async () => {
    const puppet = new Puppet()
    puppet.onStop = () => {}
    const rig = runsRig({ agents: { scripted: puppet } })
    const session = await rig.chat()
    const started = await rig.send(session, 'Hello')
    await settle()
    const drained = rig.runs.drain()
    await rig.timers.advance(3100)
    await drained
    expect(await rig.runOf(started)).toMatchObject({ outcome: 'interrupted', problem: { code: 'server_stopped' } })
  })
})

describe('processes of tools that outlived the server', () => {
  const recorded = { pid: 4242, startTime: '77', bootId: 'boot', session: 's', run: 'r' }
  const table = (bootId: string | null, startTime: string | null, run: string | null = null) => {
    const ended: number[] = []
    return { ended, bootId: async () => bootId, startTime: async () => startTime, marked: async (_: number, asked: string) => asked === run, endGroup: (pgid: number) => ended.push(pgid) > 0 }
  }

  it('are ended only when boot and start time are those recorded, and forgotten either way', async () => {
    for (const [boot, start, expected] of [['boot', '77', 1], ['boot', '78', 0], ['other', '77', 0], [null, '77', 0], ['boot', null, 0]] as const) {
      const fake = table(boot, start)
      const forgotten: number[] = []
      expect(await endLeftovers(fake, [recorded], async (pid) => void forgotten.push(pid))).toBe(expected)
      expect(fake.ended).toEqual(expected ? [4242] : [])
      expect(forgotten).toEqual([4242])
    }
  })

  it('are ended by the mark of their run when only their leader has ended, and never where another process has its number', async () => {
    for (const [boot, start, mark, expected] of [['boot', null, 'r', 1], ['boot', null, 'q', 0], ['other', null, 'r', 0], ['boot', '78', 'r', 0]] as const) {
      const fake = table(boot, start, mark)
      expect(await endLeftovers(fake, [recorded], async () => {})).toBe(expected)
      expect(fake.ended).toEqual(expected ? [4242] : [])
    }
  })

  it('are ended also when the disk is full', async () => {
    const fake = table('boot', '77')
    expect(await endLeftovers(fake, [recorded], () => Promise.reject(new Error('full')))).toBe(1)
  })

  it('are left alone where the system cannot tell them apart', async () => {
    const elsewhere = systemProcesses('darwin')
    expect([await elsewhere.bootId(), await elsewhere.startTime(process.pid), await elsewhere.marked(process.pid, 'r')]).toEqual([null, null, false])
  })

  it('have the start time that the kernel tells, whatever the command is called', () => {
    const fields = ['S', ...Array.from({ length: 18 }, (_, i) => String(i)), '8675309', '0']
    expect(startTimeOf(`123 (a) b (c) ${fields.join(' ')}`)).toBe('8675309')
    expect(startTimeOf('garbage')).toBeNull()
  })

  it.runIf(process.platform === 'linux')('are really ended with their children', async () => {
    const child = spawn('sh', ['-c', 'sleep 300 & sleep 300'], { detached: true, stdio: 'ignore' })
    const exited = new Promise<NodeJS.Signals | null>((resolve) => child.on('exit', (_, signal) => resolve(signal)))
    const system = systemProcesses()
    const pid = child.pid!
    const left = { pid, startTime: (await system.startTime(pid))!, bootId: (await system.bootId())!, session: 's', run: 'r' }
    expect(await endLeftovers(system, [{ ...left, startTime: '1' }], async () => {})).toBe(0)
    expect(await endLeftovers(system, [left], async () => {})).toBe(1)
    expect(await exited).toBe('SIGKILL')
  })

  it.runIf(process.platform === 'linux')('carry the mark of their run also when their leader has ended', async () => {
    const child = spawn('sh', ['-c', 'sleep 300 & exit 0'], { detached: true, stdio: 'ignore', env: { ...process.env, [RUN_MARK]: 'run_1' } })
    await new Promise((resolve) => child.on('exit', resolve))
    const system = systemProcesses()
    const pid = child.pid!
    expect(await system.startTime(pid)).toBeNull()
    expect([await system.marked(pid, 'run_'), await system.marked(pid, 'run_1')]).toEqual([false, true])
    const left = { pid, startTime: '1', bootId: (await system.bootId())!, session: 's', run: 'run_1' }
    expect(await endLeftovers(system, [left], async () => {})).toBe(1)
    await expect.poll(() => system.marked(pid, 'run_1')).toBe(false)
  })
})

describe('what is left of an answer', () => {
  it('is the same text before and after the restart', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    await rig.send(session, '[[deltas:400]][[silence]]')
    await rig.until(async () => answerText(await rig.transcript(session)).length > 3000)
    const before = await rig.answer(session)
    const heir = runsRig({ disk: rig.model.crash() })
    await heir.runs.recover()
    expect(await heir.answer(session)).toBe(before)
  })
})
