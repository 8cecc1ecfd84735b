import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually } from '../wire/api'
import { Stage, writeHome } from './stage'

// What was allowed is what the real shell did, and nothing else (spec/agents.md §3). Every case has folders of its own that a command would remove.
let stage: Stage
let count = 0
const victim = (): string => {
  const folder = join(stage.server.work, `victim-${count++}`)
  mkdirSync(folder)
  return folder
}
const removing = (folder: string): { name: string; args: object } => ({ name: 'terminal', args: { command: `rm -rf ${folder}` } })
const asking = async (...folders: string[]): Promise<string> => {
  const session = await stage.chat()
  await stage.say(session, `@@calls ${JSON.stringify(folders.map(removing))} &&& @@text over`)
  return session
}
const answer = (session: string, approval: string, choice: string) => call(stage.server, 'POST /api/approval/respond', { session_id: session, approval_id: approval, choice })
/** The answer was told that it came to nothing, by its status or by the original's words for it. */
const forNothing = ({ status, body }: Awaited<ReturnType<typeof answer>>): boolean => status !== 200 || !body.ok || 'stale_cleared' in body
const answerId = (session: string, approval: string, choice: string) => call(stage.server, 'POST /api/approval/respond', { session_id: session, approval_id: approval, choice_id: choice })

describe('approvals of the real Hermes Agent', () => {
  beforeAll(async () => {
    stage = await Stage.set()
  })
  afterAll(() => stage?.strike())

  it('does what was allowed once, and asks again for the same command in the same chat', async () => {
    const folder = victim()
    const session = await asking(folder)
    const { id, row } = await stage.question(session)
    expect(existsSync(folder)).toBe(true)
    expect(row.kind === 'tool' && row.approval?.command).toContain(folder)
    expect((await answer(session, id, 'once')).status).toBe(200)
    await stage.over(session)
    expect(existsSync(folder)).toBe(false)
    const other = victim()
    await stage.say(session, `@@call terminal ${JSON.stringify(removing(other).args)} &&& @@text over`)
    const second = await stage.question(session)
    expect((await answer(session, second.id, 'deny')).status).toBe(200)
    await stage.over(session)
    expect(existsSync(other)).toBe(true)
  })

  it('does not do what was denied, and the turn goes on', async () => {
    const folder = victim()
    const session = await asking(folder)
    const { id } = await stage.question(session)
    expect((await answer(session, id, 'deny')).status).toBe(200)
    const { turns, rows } = await stage.over(session)
    expect(turns[0]!.runs[0]!.outcome).toBe('completed')
    expect(rows.find((row) => row.kind === 'tool')).toMatchObject({ state: 'denied' })
    expect(existsSync(folder)).toBe(true)
  })

  it('takes no choice that it did not offer: nothing runs, and the question stays', async () => {
    const folder = victim()
    const session = await asking(folder)
    const { id } = await stage.question(session)
    for (const choice of ['bogus', 'yes', 'y', 'deny_always', 'all', 'true'])
      expect((await answer(session, id, choice)).status, choice).toBe(400)
    for (const choice of ['bogus', 'true', 'once ']) expect((await answerId(session, id, choice)).status, choice).toBe(400)
    expect((await stage.question(session)).id).toBe(id)
    expect(existsSync(folder)).toBe(true)
    await answer(session, id, 'deny')
    await stage.over(session)
    expect(existsSync(folder)).toBe(true)
  })

  it('asks for two dangerous commands one after the other, and each answer is for its own', async () => {
    const [first, second] = [victim(), victim()]
    const session = await asking(first, second)
    const one = await stage.question(session)
    expect((await answer(session, one.id, 'once')).status).toBe(200)
    const two = await eventually('the second is asked', async () => {
      const next = await stage.question(session)
      return next.id === one.id ? null : next
    }, 30_000)
    expect(forNothing(await answer(session, one.id, 'once'))).toBe(true)
    expect(two.row.kind === 'tool' && two.row.approval?.command).toContain(second)
    expect((await answer(session, two.id, 'deny')).status).toBe(200)
    await stage.over(session)
    expect([existsSync(first), existsSync(second)]).toEqual([false, true])
  })

  it('takes the first of two devices that answer at once, and tells the other', async () => {
    const folder = victim()
    const session = await asking(folder)
    const { id } = await stage.question(session)
    const answers = await Promise.all([answer(session, id, 'deny'), answer(session, id, 'once'), answer(session, id, 'session')])
    expect(answers.filter((each) => !forNothing(each))).toHaveLength(1)
    const { rows } = await stage.over(session)
    const allowed = answers.findIndex((each) => !forNothing(each)) > 0
    expect(existsSync(folder)).toBe(!allowed)
    expect(rows.find((row) => row.kind === 'tool')?.state).toBe(allowed ? 'done' : 'denied')
  })
})

/** It changes the person's own configuration, so it has a home of its own. */
describe('an approval that goes beyond once', () => {
  beforeAll(async () => {
    stage = await Stage.set()
  })
  afterAll(() => stage?.strike())

  it('means by "this chat" this chat, and by "always" this machine, as the card says', async () => {
    const [first, second, third] = [victim(), victim(), victim()]
    const session = await asking(first)
    const asked = await stage.question(session)
    expect((await answer(session, asked.id, 'session')).status).toBe(200)
    await stage.over(session)
    await stage.say(session, `@@call terminal ${JSON.stringify(removing(second).args)} &&& @@text over`)
    await stage.over(session)
    expect([existsSync(first), existsSync(second)]).toEqual([false, false])
    const elsewhere = await asking(third)
    const again = await stage.question(elsewhere)
    expect(again.row.kind === 'tool' && again.row.approval?.choices.find(({ kind }) => kind === 'always')?.consequence).toBeTruthy()
    expect(readFileSync(join(stage.folder, 'home/config.yaml'), 'utf8')).not.toContain('command_allowlist')
    expect((await answer(elsewhere, again.id, 'always')).status).toBe(200)
    await stage.over(elsewhere)
    expect(existsSync(third)).toBe(false)
    expect(readFileSync(join(stage.folder, 'home/config.yaml'), 'utf8')).toContain('command_allowlist')
  })
})

/** Hermes drops a question after its time without a word, and takes the next answer for its oldest open one. */
describe('an approval that nobody answers in time', () => {
  beforeAll(async () => {
    stage = await Stage.set((folder, model) => writeHome(join(folder, 'home'), model.base, { timeout: 8 }), { TALARIA_HERMES_LAYER: 'off' })
  })
  afterAll(() => stage?.strike())

  it('lets a late answer run nothing: neither the command that it was meant for nor the next one', async () => {
    const [first, second] = [victim(), victim()]
    const session = await asking(first, second)
    const one = await stage.question(session)
    const two = await eventually('the first expires and the second is asked', async () => {
      const next = await stage.question(session)
      return next.id === one.id ? null : next
    }, 60_000)
    expect(forNothing(await answer(session, one.id, 'once'))).toBe(true)
    expect([existsSync(first), existsSync(second)]).toEqual([true, true])
    expect(two.row.kind === 'tool' && two.row.approval?.command).toContain(second)
    // It may be asked anew, once the first is provably over.
    await eventually('it may be answered', async () => (await answer(session, (await stage.question(session)).id, 'deny')).status === 200, 30_000)
    await stage.over(session)
    expect([existsSync(first), existsSync(second)]).toEqual([true, true])
  }, 120_000)
})
