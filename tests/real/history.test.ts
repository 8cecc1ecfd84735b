import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Row } from '../../server/contract/rows'
import type { Run, Transcript } from '../../server/contract/session'
import type { Started } from '../../server/runs/port'
import type { Cue } from '../agent/rig'
import { checkInvariants } from '../support/invariants'
import { replay } from '../support/replay'
import { eventually } from '../wire/api'
import { hermesRig } from './hermes-rig'
import type { HermesRig } from './hermes-rig'
import { hermesProgram } from './stage'

let rig: HermesRig
beforeAll(async () => {
  rig = await hermesRig()
})
afterAll(() => rig?.close())

const say = (text: string): Cue => ({ cue: 'text', deltas: [text] })

/** One conversation: here, and in a terminal. */
class Talk {
  constructor(readonly session: string) {}

  static async begin(): Promise<Talk> {
    const { id } = await rig.runs.create(rig.profile, { agent: 'hermes', model: null, workspace: rig.workspace })
    return new Talk(id)
  }

  async whole(): Promise<Transcript> {
    const value = await replay(rig.store, this.session)
    expect(checkInvariants(value)).toEqual([])
    return value
  }

  async shown(...kinds: Row['kind'][]): Promise<string[]> {
    const value = await this.whole()
    return value.order.map((id) => value.rows.get(id)!).filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).map((row) => (row.kind === 'tool' ? `tool ${row.tool.name}` : row.kind === 'divider' ? row.divider.code : row.text))
  }

  /** A turn here, to its end; what was sent. */
  async here(cues: Cue[], more: { replaceFrom?: string } = {}): Promise<string> {
    const text = rig.message(cues)!
    const run = await this.settled(await rig.runs.start(rig.profile, { session: this.session, text, ...more }))
    expect(run).toMatchObject({ outcome: 'completed' })
    return text
  }

  settled(started: Started): Promise<Run> {
    return eventually('the turn ends', async () => {
      const run = (await this.whole()).turns.get(started.turn)!.runs.find(({ id }) => id === started.run)!
      return run.state === 'settled' && !rig.runs.live().some(({ session }) => session === this.session) ? run : null
    }, 60_000)
  }

  async row(text: string): Promise<string> {
    return [...(await this.whole()).rows.values()].find((row) => row.kind === 'user' && row.text === text)!.id
  }

  async foreign(): Promise<string> {
    return (await this.whole()).session!.foreign!
  }

  /** What Hermes has stored and its model sees. */
  async stored(): Promise<string[]> {
    return (await rig.program.messages(await this.foreign()))!.filter(({ role }) => role !== 'tool').flatMap(({ content }) => (typeof content === 'string' && content !== '' ? [content] : []))
  }

  /** A turn in a terminal, on the same stored session; what was typed, and what it printed. */
  async terminal(cues: Cue[]): Promise<{ typed: string; printed: string }> {
    const typed = rig.message(cues)!
    const { stdout } = await promisify(execFile)(hermesProgram(), ['chat', '--resume', await this.foreign(), '-q', typed], {
      cwd: rig.workspace, timeout: 60_000, env: { ...process.env, HOME: rig.folder, HERMES_HOME: rig.profile.home, PATH: `${dirname(hermesProgram())}:${process.env.PATH ?? ''}`, NO_COLOR: '1' },
    })
    return { typed, printed: stdout }
  }
}

test('here, in a terminal, and here again: equal rows, nothing doubled, and the model remembers', async () => {
  const talk = await Talk.begin()
  const one = await talk.here([{ cue: 'tools', calls: [{ tool: 'read_missing', file: 'nowhere.md' }] }, say('Looked here.')])
  expect(await talk.shown()).toEqual([one, 'tool read_file', 'Looked here.'])
  const { typed, printed } = await talk.terminal([{ cue: 'tools', calls: [{ tool: 'read_missing', file: 'elsewhere.md' }] }, say('Looked in the terminal.')])
  expect(printed).toContain('Looked in the terminal.')
  const two = await talk.here([say('Here again.')])
  expect(await talk.shown()).toEqual([one, 'tool read_file', 'Looked here.', typed, 'tool read_file', 'Looked in the terminal.', two, 'Here again.'])
  expect(rig.told('Looked in the terminal.', '')).toBe(true)
  const edited = await talk.here([say('Edited.')], { replaceFrom: await talk.row(two) })
  expect(await talk.shown()).toEqual([one, 'tool read_file', 'Looked here.', typed, 'tool read_file', 'Looked in the terminal.', edited, 'Edited.'])
  expect(await talk.stored()).toEqual([one, 'Looked here.', typed, 'Looked in the terminal.', edited, 'Edited.'])
  // The terminal sees the edit, and we see the terminal, once.
  const second = await talk.terminal([say('The terminal again.')])
  const three = await talk.here([say('The end.')])
  expect(await talk.shown('user', 'answer')).toEqual([one, 'Looked here.', typed, 'Looked in the terminal.', edited, 'Edited.', second.typed, 'The terminal again.', three, 'The end.'])
  expect(await talk.stored()).toEqual([one, 'Looked here.', typed, 'Looked in the terminal.', edited, 'Edited.', second.typed, 'The terminal again.', three, 'The end.'])
  expect(await talk.shown('divider')).toEqual([])
})

test('what was edited away is gone in Hermes too: no request of its model holds it any more', async () => {
  const talk = await Talk.begin()
  const one = await talk.here([say('Kept.')])
  const two = await talk.here([say('Gone with its question.')])
  const better = await talk.here([say('Better.')], { replaceFrom: await talk.row(two) })
  expect(await talk.stored()).toEqual([one, 'Kept.', better, 'Better.'])
  const first = await talk.here([say('From the start.')], { replaceFrom: await talk.row(one) })
  expect(await talk.stored()).toEqual([first, 'From the start.'])
  expect(await talk.shown()).toEqual([first, 'From the start.'])
})

test('a turn tried again is asked once', async () => {
  const talk = await Talk.begin()
  const one = await talk.here([say('Kept.')])
  const text = rig.message([{ cue: 'problem', kind: 'unauthorized' }])!
  const failed = await rig.runs.start(rig.profile, { session: talk.session, text })
  expect(await talk.settled(failed)).toMatchObject({ outcome: 'failed' })
  await talk.settled(await rig.runs.start(rig.profile, { session: talk.session, retry: failed.turn }))
  const stored = await talk.stored()
  expect(stored.filter((words) => words.includes(text))).toHaveLength(1)
  expect(stored[0]).toBe(one)
})

test('a session that was deleted in Hermes is made anew from what stands here, and the chat says so', async () => {
  const talk = await Talk.begin()
  const one = await talk.here([say('Before.')])
  const old = await talk.foreign()
  // An open session cannot be deleted by the page's own verb; the terminal does it.
  await promisify(execFile)(hermesProgram(), ['sessions', 'delete', old, '--yes'], { cwd: rig.workspace, timeout: 60_000, env: { ...process.env, HOME: rig.folder, HERMES_HOME: rig.profile.home } })
  const two = await talk.here([say('After.')])
  expect(await talk.foreign()).not.toBe(old)
  expect(await talk.shown()).toEqual([one, 'Before.', two, 'agent_reseeded', 'After.'])
  expect(await talk.stored()).toEqual([one, 'Before.', two, 'After.'])
})
