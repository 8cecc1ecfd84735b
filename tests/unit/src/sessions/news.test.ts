import { describe, expect, test } from 'vitest'
import type { Attention, ListEntry } from '../../../../server/contract/listing'
import { newsOf } from '../../../../src/sessions/news'
import { nextNeeding } from '../../../../src/sessions/next'
import { attentionHere, confirmed, markSeen, parseSeen } from '../../../../src/sessions/seen'

function entry(part: Partial<ListEntry> = {}): ListEntry {
  return {
    id: 'ses_1', rev: 1, title: 'A chat', profile: 'default', workspace: '/w', agent: null, model: null, pinned: false, archived: false,
    createdAt: 0, lastAt: 1000, count: 2, state: 'idle', questions: 0, outcome: 'completed', ticks: [], ...part,
  }
}
const here = { offline: false, saved: true, attention: null }

describe('the second line of a row', () => {
  test('a quiet chat says nothing', () => {
    expect(newsOf(entry(), here).line).toBeUndefined()
  })
  test('a waiting chat says what it asks', () => {
    expect(newsOf(entry({ state: 'asking', questions: 1, line: { kind: 'question', text: 'Run make?' } }), here)).toMatchObject({ state: 'needs', line: 'Run make?', tone: 'need' })
  })
  test('a working chat says its step with a verb, or that it thinks', () => {
    expect(newsOf(entry({ state: 'working', line: { kind: 'step', verb: 'read', text: 'notes.md' } }), here).line).toBe('Reading notes.md')
    expect(newsOf(entry({ state: 'working', line: { kind: 'step', verb: 'other', text: 'thing' } }), here).line).toBe('Using thing')
    // As a newer server may say it.
    expect(newsOf(entry({ state: 'working', line: { kind: 'step', verb: 'sing' as 'other', text: 'a song' } }), here).line).toBe('Using a song')
    expect(newsOf(entry({ state: 'working' }), here).line).toBe('Thinking')
    expect(newsOf(entry({ state: 'working', line: { kind: 'step', verb: 'answer', text: '' } }), here).line).toBe('Writing the answer')
  })
  test('a failed chat says why in words for people, a broken one that it broke off', () => {
    expect(newsOf(entry({ outcome: 'failed', problem: 'quota_exhausted' }), { ...here, attention: 'failed' })).toMatchObject({ state: 'failed', line: 'No credit left', tone: 'bad' })
    expect(newsOf(entry({ outcome: 'interrupted', problem: 'server_restarted' }), { ...here, attention: 'failed' }).spoken).toBe('broke off')
  })
  test('a failure that was seen is quiet, as is a chat that was stopped', () => {
    expect(newsOf(entry({ outcome: 'failed', problem: 'quota_exhausted' }), here).line).toBeUndefined()
    expect(newsOf(entry({ outcome: 'cancelled' }), here).state).toBe('quiet')
  })
  test('an unread answer shows its first sentence', () => {
    expect(newsOf(entry({ line: { kind: 'answer', text: 'It is done.' } }), { ...here, attention: 'unread' })).toMatchObject({ state: 'unread', line: 'It is done.' })
  })
  test('offline nothing claims to be live', () => {
    expect(newsOf(entry({ state: 'working' }), { offline: true, saved: true, attention: null })).toEqual({ state: 'quiet', line: 'Was working' })
    expect(newsOf(entry({ state: 'asking', questions: 1 }), { offline: true, saved: false, attention: null }).state).toBe('notHere')
  })
})

describe('what was seen', () => {
  const done = (part: Partial<ListEntry> = {}) => entry({ settled: 9, ...part })
  test('an answer asks for a look until it was seen, on any device or here', () => {
    expect(attentionHere(done(), {})).toBe('unread')
    expect(attentionHere(done({ read: 9 }), {})).toBeNull()
    expect(attentionHere(done({ read: 4 }), { ses_1: 9 })).toBeNull()
    expect(attentionHere(done({ settled: 12, read: 4 }), { ses_1: 9 })).toBe('unread')
  })
  test('a question comes before a failure before an answer, and a chat that was stopped asks for nothing', () => {
    expect(attentionHere(done({ questions: 1 }), { ses_1: 9 })).toBe('question')
    expect(attentionHere(done({ outcome: 'interrupted' }), {})).toBe('failed')
    expect(attentionHere(done({ outcome: 'cancelled' }), {})).toBeNull()
  })
  test('a chat of a server that says nothing of it asks for nothing', () => {
    expect(attentionHere(entry(), {})).toBeNull()
  })
  test('only the highest mark is kept, and it leaves when the server holds it', () => {
    const marks = markSeen(markSeen({}, 'ses_1', 9), 'ses_1', 4)
    expect(marks).toEqual({ ses_1: 9 })
    expect(confirmed(marks, 'ses_1', 8)).toBe(marks)
    expect(confirmed(marks, 'ses_1', 9)).toEqual({})
  })
  test('marks survive being kept, and nonsense is none', () => {
    expect(parseSeen(JSON.stringify({ ses_1: 9, ses_2: 'x' }))).toEqual({ ses_1: 9 })
    expect(parseSeen('{"base')).toEqual({})
    expect(parseSeen(null)).toEqual({})
  })
})

describe('the next chat that needs the person', () => {
  const marks: Record<string, Attention> = { b: 'unread', c: 'question', e: 'failed' }
  const next = (open: string | null) => nextNeeding(['a', 'b', 'c', 'd', 'e'], open, (id) => marks[id] ?? null)
  test('questions come first, then what failed, then what is unread; around the end', () => {
    expect(next(null)).toBe('c')
    expect(next('d')).toBe('c')
    delete marks.c
    expect(next(null)).toBe('e')
    delete marks.e
    expect(next('d')).toBe('b')
    expect(next('b')).toBeUndefined()
  })
})
