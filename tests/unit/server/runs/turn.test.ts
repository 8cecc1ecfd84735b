import { describe, expect, it } from 'vitest'
import { runsRig } from '../../../support/runs-rig'

describe('a turn', () => {
  it('is shown as question, thought, steps and answer, and settles once', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    const started = await rig.send(session, '[[reason:Let me look.]][[tool:read {"verb":"read","target":"a.md","result":"Alpha","ms":50}]][[say:It says Alpha.]]')
    const run = await rig.settled(started)
    expect(run).toMatchObject({ outcome: 'completed', attempt: 1, generation: 1, cause: 'sent' })
    const value = await rig.transcript(session)
    const rows = value.order.map((id) => value.rows.get(id)!)
    expect(rows.map((row) => [row.kind, row.state, row.text])).toEqual([
      ['user', 'done', expect.stringContaining('[[reason')], ['thought', 'done', 'Let me look.'], ['tool', 'done', ''], ['answer', 'done', 'It says Alpha.'],
    ])
    expect(run.finalRow).toBe(rows[3]!.id)
    const types = (await rig.events(session)).map((event) => event.type)
    expect(types.filter((type) => type === 'run.settled')).toHaveLength(1)
    expect(types.at(-1)).toBe('run.settled')
  })

  it('joins deltas that arrive within one commit into one piece of growth', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    const started = await rig.send(session, '[[deltas:2000]]')
    await rig.settled(started)
    const events = await rig.events(session)
    expect(events.filter((event) => event.type === 'row.grew').length).toBeLessThan(40)
    expect((await rig.answer(session)).length).toBeGreaterThan(15_000)
  })

  it('plays the demo to its end when it is allowed', async () => {
    const rig = runsRig()
    const session = await rig.chat()
    const started = await rig.send(session, 'Hello there')
    const asking = () => rig.until(async () => (await rig.store.list({ profile: 'default', limit: 1 })).entries[0]?.state === 'asking')
    await asking()
    await rig.runs.answer(rig.profile, { session, text: 'Hello yourself' })
    await asking()
    await rig.runs.decide(rig.profile, { session, choice: 'once' })
    const run = await rig.settled(started)
    expect(run.outcome).toBe('completed')
    expect(await rig.answer(session)).toContain('| Asked to run a command | you allowed it, and it ran |')
    expect((await rig.transcript(session)).session!.title).toBe('Hello there')
  })
})
