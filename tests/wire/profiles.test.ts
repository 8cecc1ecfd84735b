import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer } from '../support/server'
import type { TestServer } from '../support/server'
import { call, newChat, say, settled } from './api'

/** Which profile a request is of (spec/server.md §3.2, §4). */
describe('the profile of a request', () => {
  let server: TestServer
  const as = (name: string) => ({ Cookie: `theme=dark; hermes_profile=${name}` })
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server?.end())

  it('is the one that its cookie names, and chats of others are not to be seen', async () => {
    const made = await call(server, 'POST /api/session/new', {}, as('amber'))
    const session = made.body.session.session_id
    expect(made.status).toBe(200)
    expect((await call(server, 'GET /api/sessions', {}, as('amber'))).body.sessions).toMatchObject([{ session_id: session }])
    expect((await call(server, 'GET /api/sessions', {}, as('amber'))).body.active_profile).toBe('amber')
    expect((await call(server, 'GET /api/sessions', {})).body.sessions).toEqual([])
    const other = await call(server, 'GET /api/session', { session_id: session })
    expect([other.status, other.problem.code, other.problem.profile]).toEqual([409, 'session_profile_mismatch', 'amber'])
    const started = await call(server, 'POST /api/chat/start', { session_id: session, message: '[[say:hello]]' }, as('amber'))
    expect(started.status).toBe(200)
  })

  it('is never made of what a cookie says: an unknown or strange name is the root profile', async () => {
    for (const name of ['nobody', '../../etc', 'AMBER', '', 'default', 'amber%2f..', '"amber/.."'])
      expect((await call(server, 'GET /api/sessions', {}, as(name))).body.active_profile, name).toBe('default')
    expect((await call(server, 'GET /api/sessions', {}, as('"amber"'))).body.active_profile).toBe('amber')
  })

  it('may be named with a new chat only as the one that the request is of', async () => {
    expect((await call(server, 'POST /api/session/new', { profile: 'amber' })).problem).toMatchObject({ code: 'bad_request' })
    expect((await call(server, 'POST /api/session/new', { profile: 'amber' }, as('amber'))).status).toBe(200)
  })

  it('goes with what begins without a request: a message that waits in its queue', async () => {
    const made = await call(server, 'POST /api/session/new', {}, as('amber'))
    const session = made.body.session.session_id
    const added = await call(server, 'POST /api/chat/queue', { session_id: session, message: '[[say:from the queue]]' }, as('amber'))
    expect(added.status).toBe(200)
    const mine = await newChat(server)
    await settled(server, await say(server, mine, '[[say:mine]]'))
    for (let i = 0; ; i++) {
      const { turns } = (await call(server, 'GET /api/session/changes', { session_id: session }, as('amber'))).body
      if (turns[0]?.runs[0]?.state === 'settled') break
      expect(i).toBeLessThan(500)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
})
