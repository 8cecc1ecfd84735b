import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Append } from '../../../../server/store/port'
import { Puppet } from '../../../support/puppet'
import { settle } from '../../../support/fake-timers'
import { runsRig, testProfile } from '../../../support/runs-rig'
import { codeOf } from './code-of'

function rigged(options: { realFolders?: boolean } = {}) {
  const puppet = new Puppet()
  const rig = runsRig({ agents: { scripted: puppet }, ...options })
  return { ...rig, puppet }
}

describe('admission', () => {
  it('writes the question and its run in one append and answers after the commit', async () => {
    const { runs, profile, chat, model, puppet } = rigged()
    const session = await chat()
    const appends: Append[] = []
    model.fault = (append) => void appends.push(append)
    model.hold()
    let answered = false
    const start = runs.start(profile, { session, text: 'Hello', key: 'k', bodyHash: 'h' }).finally(() => (answered = true))
    await settle()
    expect(answered).toBe(false)
    expect(puppet.openings).toEqual([])
    model.release()
    await start
    await settle()
    expect(appends[0]!.events.map((event) => event.type)).toEqual(['session.changed', 'turn.admitted', 'agent.bound', 'run.started'])
    expect(appends[0]).toMatchObject({ generation: 1, urgency: 'now', receipt: { key: 'k', bodyHash: 'h' } })
    expect(puppet.openings).toHaveLength(1)
  })

  it('answers the stored receipt for the same key and body, also while the run is live, and does nothing again', async () => {
    const { runs, profile, chat, events } = rigged()
    const session = await chat()
    const input = { session, text: 'Hello', key: 'k', bodyHash: 'h' }
    const first = await runs.start(profile, input)
    const before = (await events(session)).length
    expect(await runs.start(profile, input)).toEqual(first)
    expect((await events(session)).length).toBe(before)
  })

  it('gives two sends with one key in flight the same answer', async () => {
    const { runs, profile, chat, events } = rigged()
    const session = await chat()
    const input = { session, text: 'Hello', key: 'k', bodyHash: 'h' }
    const [one, two] = await Promise.all([runs.start(profile, input), runs.start(profile, input)])
    expect(two).toEqual(one)
    expect((await events(session)).filter((event) => event.type === 'turn.admitted')).toHaveLength(1)
  })

  it('refuses a key with another body, in any chat', async () => {
    const { runs, profile, chat } = rigged()
    const session = await chat()
    const other = await chat()
    await runs.start(profile, { session, text: 'Hello', key: 'k', bodyHash: 'h' })
    expect(await codeOf(runs.start(profile, { session, text: 'Bye', key: 'k', bodyHash: 'other' }))).toBe('key_reused')
    expect(await codeOf(runs.start(profile, { session: other, text: 'Hello', key: 'k', bodyHash: 'else' }))).toBe('key_reused')
  })

  it('refuses a key that another chat is just using, and starts nothing', async () => {
    const { runs, profile, chat, events } = rigged()
    const [one, two] = [await chat(), await chat()]
    const [first, second] = await Promise.all([
      codeOf(runs.start(profile, { session: one, text: 'Hello', key: 'k', bodyHash: 'h1' })), codeOf(runs.start(profile, { session: two, text: 'Hello', key: 'k', bodyHash: 'h2' })),
    ])
    expect([first, second]).toEqual(['none', 'key_reused'])
    expect(await events(two)).toHaveLength(1)
    expect(runs.live()).toHaveLength(1)
    expect(await codeOf(runs.start(profile, { session: two, text: 'Hello' }))).toBe('none')
  })

  it('lets one of two parallel sends in and names the live run to the other', async () => {
    const { runs, profile, chat } = rigged()
    const session = await chat()
    const [one, two] = await Promise.allSettled([runs.start(profile, { session, text: 'One' }), runs.start(profile, { session, text: 'Two' })])
    expect(one.status).toBe('fulfilled')
    expect(two).toMatchObject({ reason: { problem: { code: 'session_busy', session_id: session, active_stream_id: (one as PromiseFulfilledResult<{ run: string }>).value.run } } })
  })

  it('takes a send of one who has just been shown the end of the run before', async () => {
    const { runs, profile, chat, model, puppet } = rigged()
    const session = await chat()
    await runs.start(profile, { session, text: 'One' })
    await settle()
    const next: Promise<string>[] = []
    model.onCommit((batch) => {
      if (batch.some((entry) => entry.events.some((event) => event.type === 'run.settled'))) next.push(codeOf(runs.start(profile, { session, text: 'Two' })))
    })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect(await Promise.all(next)).toEqual(['none'])
  })

  it('refuses blank text, both or neither of text and retry, unknown chats and chats of another profile, changing nothing', async () => {
    const { runs, profile, chat, events } = rigged()
    const session = await chat()
    expect(await codeOf(runs.start(profile, { session, text: ' \n ' }))).toBe('message_required')
    expect(await codeOf(runs.start(profile, { session }))).toBe('message_required')
    expect(await codeOf(runs.start(profile, { session, text: 'x', retry: 'trn_1' }))).toBe('bad_request')
    expect(await codeOf(runs.start(profile, { session: 'ses_none', text: 'x' }))).toBe('session_not_found')
    expect(await codeOf(runs.start(testProfile('work'), { session, text: 'x' }))).toBe('session_profile_mismatch')
    expect(await events(session)).toHaveLength(1)
    expect(runs.live()).toEqual([])
  })

  it('names the chat after its first message, once, and never over a person', async () => {
    const { runs, profile, chat, puppet, transcript } = rigged()
    const session = await chat()
    const long = `First  line\nof ${'\u{1F680}'.repeat(60)}`
    await runs.start(profile, { session, text: long })
    const title = (await transcript(session)).session!.title
    expect(title.length).toBeLessThanOrEqual(64)
    expect(title.startsWith('First line of \u{1F680}')).toBe(true)
    expect(title).not.toMatch(/\p{Surrogate}/u)
    await settle()
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    await runs.start(profile, { session, text: 'Second' })
    expect((await transcript(session)).session!.title).toBe(title)

    const named = (await runs.create(profile, { title: 'Mine' })).id
    await runs.start(profile, { session: named, text: 'Hello' })
    expect((await transcript(named)).session).toMatchObject({ title: 'Mine', titleBy: 'person' })
  })

  it('binds the agent at the first turn only', async () => {
    const { runs, profile, chat, puppet, events } = rigged()
    const session = await chat()
    for (const text of ['One', 'Two']) {
      await runs.start(profile, { session, text })
      await settle()
      puppet.turn.end({ outcome: 'completed' })
      await settle()
    }
    const bound = (await events(session)).filter((event) => event.type === 'agent.bound')
    expect(bound).toMatchObject([{ agent: { kind: 'scripted', name: 'Puppet' }, why: 'first' }])
  })

  it('makes the default working folder at the first turn, and refuses an absent, a relative and a foreign one', async () => {
    const { runs, profile, chat, folder, events } = rigged({ realFolders: true })
    const session = await chat()
    expect(existsSync(join(folder, 'workspace'))).toBe(false)
    mkdirSync(join(folder, 'here'))
    symlinkSync('/etc', join(folder, 'sneaky'))
    writeFileSync(join(folder, 'file'), '')
    const start = (workspace: string) => codeOf(runs.start(profile, { session, text: 'x', workspace }))
    expect(await start(join(folder, 'gone'))).toBe('workspace_missing')
    expect(await start(join(folder, 'file'))).toBe('workspace_missing')
    expect(await start('here')).toBe('bad_request')
    expect(await start('/etc')).toBe('workspace_outside')
    expect(await start('/')).toBe('workspace_outside')
    expect(await start(join(folder, '..'))).toBe('workspace_outside')
    expect(await start(join(folder, 'sneaky'))).toBe('workspace_outside')
    expect(await events(session)).toHaveLength(1)
    expect(await start(join(folder, 'here'))).toBe('none')
    expect((await events(session))[1]).toMatchObject({ type: 'session.changed', workspace: join(folder, 'here') })
    const other = await chat()
    await runs.start(profile, { session: other, text: 'x' })
    expect(existsSync(join(folder, 'workspace'))).toBe(true)
  })

  it('refuses when the disk is full, leaves nothing, and takes the same send later', async () => {
    const { runs, profile, chat, model, events, puppet } = rigged()
    const session = await chat()
    model.failAppend(1, 'full')
    const input = { session, text: 'Hello', key: 'k', bodyHash: 'h' }
    expect(await codeOf(runs.start(profile, input))).toBe('store_full')
    expect(await events(session)).toHaveLength(1)
    expect(runs.live()).toEqual([])
    expect(puppet.openings).toEqual([])
    expect(await codeOf(runs.start(profile, input))).toBe('none')
  })

  it('refuses a chat without any model, and settles a run whose agent cannot be opened with its words', async () => {
    const { runs, profile, chat, puppet, runOf } = rigged()
    const session = await chat()
    puppet.onProbe = async () => ({ state: 'unavailable', code: 'no_model' })
    expect(await codeOf(runs.start(profile, { session, text: 'x' }))).toBe('no_model')
    puppet.onProbe = () => Promise.reject(new Error('probe broke'))
    puppet.onOpen = () => Promise.reject(new Error('no such program'))
    const started = await runs.start(profile, { session, text: 'x' })
    await settle()
    expect(await runOf(started)).toMatchObject({ outcome: 'failed', problem: { code: 'agent_unavailable', words: 'no such program' } })
  })

  it('runs many chats at once', async () => {
    const { runs, profile, chat, puppet } = rigged()
    const sessions = await Promise.all(Array.from({ length: 40 }, chat))
    await Promise.all(sessions.map((session) => runs.start(profile, { session, text: 'x' })))
    await settle()
    expect(runs.live().map((live) => live.session).sort()).toEqual([...sessions].sort())
    for (const turn of puppet.turns) turn.end({ outcome: 'completed' })
    await settle()
    expect(runs.live()).toEqual([])
  })
})

describe('a chat', () => {
  it('is real before its first message, and made once for one key', async () => {
    const { runs, profile, store } = rigged()
    const head = await runs.create(profile, { key: 'k', bodyHash: 'h', title: 'Plan' })
    expect(head).toMatchObject({ title: 'Plan', titleBy: 'person', count: 0, agent: null })
    expect((await runs.create(profile, { key: 'k', bodyHash: 'h', title: 'Plan' })).id).toBe(head.id)
    expect(await codeOf(runs.create(profile, { key: 'k', bodyHash: 'other', title: 'Other' }))).toBe('key_reused')
    expect(await codeOf(runs.create(profile, { key: 'k', title: 'Plan' }))).toBe('bad_request')
    expect((await store.list({ profile: 'default', limit: 10 })).entries).toHaveLength(1)
  })

  it('keeps a given id if it is safe and free', async () => {
    const { runs, profile } = rigged()
    expect((await runs.create(profile, { id: 'mine-1' })).id).toBe('mine-1')
    expect(await codeOf(runs.create(profile, { id: 'mine-1' }))).toBe('invalid_id')
    expect(await codeOf(runs.create(profile, { id: '../etc' }))).toBe('invalid_id')
  })

  it('takes a title, a model and a folder while a run is live', async () => {
    const { runs, profile, chat, folder, puppet, transcript } = rigged({ realFolders: true })
    const session = await chat()
    await runs.start(profile, { session, text: 'Hello' })
    mkdirSync(join(folder, 'other'))
    expect((await runs.rename(profile, session, '  New\nname ')).title).toBe('New name')
    expect(await runs.update(profile, session, { model: { provider: 'q', id: 'n' }, workspace: join(folder, 'other') })).toMatchObject({ model: { provider: 'q', id: 'n' }, workspace: join(folder, 'other') })
    puppet.turn.emit({ type: 'title', text: 'An agent title' })
    puppet.turn.end({ outcome: 'completed' })
    await settle()
    expect((await transcript(session)).session!.title).toBe('New name')
    expect(await codeOf(runs.rename(profile, session, ' '))).toBe('bad_request')
    expect(await codeOf(runs.rename(testProfile('work'), session, 'x'))).toBe('session_profile_mismatch')
  })

  it('takes a title from its agent as long as nobody gave one', async () => {
    const { runs, profile, chat, puppet, transcript } = rigged()
    const session = await chat()
    await runs.start(profile, { session, text: 'Hello' })
    await settle()
    puppet.turn.emit({ type: 'title', text: 'Greeting' })
    await settle()
    expect((await transcript(session)).session).toMatchObject({ title: 'Greeting', titleBy: 'agent' })
  })

  it('is deleted after its live run was stopped and settled', async () => {
    const { runs, profile, chat, puppet, store } = rigged()
    const session = await chat()
    const started = await runs.start(profile, { session, text: 'Hello' })
    await settle()
    const kinds: string[] = []
    store.onCommit((batch) => kinds.push(...batch.flatMap((entry) => entry.events.map((event) => event.type))))
    await runs.remove(profile, session)
    expect(puppet.turn.stops).toEqual(['delete'])
    expect(kinds).toEqual(['run.stopping', 'run.settled', 'session.deleted'])
    expect(await codeOf(runs.start(profile, { session, text: 'x' }))).toBe('session_not_found')
    expect(await codeOf(runs.remove(profile, session))).toBe('session_not_found')
    expect(await runs.stop(profile, started.run, 'person').catch(() => ({ cancelled: false }))).toMatchObject({ cancelled: false })
  })
})
