import { describe, expect, it } from 'vitest'
import { Refusal } from '../../../../server/contract/problems'
import { problemOf, withoutPaths } from '../../../../server/http/problem'
import { takesGzip } from '../../../../server/http/answer'
import { StoreFault, StoreRefusal } from '../../../../server/store/port'

describe('a problem', () => {
  it('is the refusal, without paths of this machine', () => {
    const answer = problemOf(new Refusal('workspace_missing', 'The folder "/home/ann/x" (and C:\\Users\\ann) does not exist', { hint: 'h' }))
    expect(answer).toEqual({ status: 400, problem: { error: 'The folder "<path>" (and <path>) does not exist', code: 'workspace_missing', hint: 'h' } })
  })
  it('keeps addresses, slashes in words and paths of our API', () => {
    for (const text of ['See https://example.org/a/b.', 'and/or', 'GET /api/session is not there', 'POST /health']) expect(withoutPaths(text)).toBe(text)
  })
  it('of the store has a code', () => {
    expect(problemOf(new StoreFault('full', 'x'))).toMatchObject({ status: 507, problem: { code: 'store_full' } })
    expect(problemOf(new StoreFault('failed', 'x'))).toMatchObject({ status: 503, problem: { code: 'store_failed' } })
    expect(problemOf(new StoreFault('closed', 'x'))).toMatchObject({ status: 503, problem: { code: 'shutting_down' } })
    expect(problemOf(new StoreRefusal('unknown_session'))).toMatchObject({ status: 404, problem: { code: 'session_not_found' } })
  })
  it('that nobody foresaw is none', () => {
    expect(problemOf(new Error('x'))).toBeNull()
    expect(problemOf('x')).toBeNull()
    expect(problemOf(new StoreRefusal('sequence'))).toBeNull()
  })
})

it.each([['gzip', true], ['br, GZIP ; q=0.5', true], ['*', true], ['gzip;q=0', false], ['gzip;q=0.0', false], ['br', false], ['', false], [undefined, false], ['xgzip', false]])('Accept-Encoding %j takes gzip: %j', (value, takes) => {
  expect(takesGzip(value)).toBe(takes)
})
