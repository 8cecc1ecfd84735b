import { describe, expect, test } from 'vitest'
import type { ListEntry } from '../../../../server/contract/listing'
import { newsOf } from '../../../../src/sessions/news'
import { firstMarks, isUnread, markSeen, NO_MARKS, parseMarks } from '../../../../src/sessions/read-marks'

function entry(part: Partial<ListEntry> = {}): ListEntry {
  return {
    id: 'ses_1', rev: 1, title: 'A chat', profile: 'default', workspace: '/w', agent: null, model: null, pinned: false, archived: false,
    createdAt: 0, lastAt: 1000, count: 2, state: 'idle', questions: 0, outcome: 'completed', ticks: [], ...part,
  }
}
const here = { offline: false, saved: true, unread: false }

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
    expect(newsOf(entry({ outcome: 'failed', problem: 'quota_exhausted' }), here)).toMatchObject({ state: 'failed', line: 'No credit left', tone: 'bad' })
    expect(newsOf(entry({ outcome: 'interrupted', problem: 'server_restarted' }), here).spoken).toBe('broke off')
  })
  test('a stopped chat is quiet: the person knows', () => {
    expect(newsOf(entry({ outcome: 'cancelled' }), here).state).toBe('quiet')
  })
  test('an unread answer shows its first sentence', () => {
    expect(newsOf(entry({ line: { kind: 'answer', text: 'It is done.' } }), { ...here, unread: true })).toMatchObject({ state: 'unread', line: 'It is done.' })
  })
  test('offline nothing claims to be live', () => {
    expect(newsOf(entry({ state: 'working' }), { offline: true, saved: true, unread: false })).toEqual({ state: 'quiet', line: 'Was working' })
    expect(newsOf(entry({ state: 'asking', questions: 1 }), { offline: true, saved: false, unread: false }).state).toBe('notHere')
  })
})

describe('read marks', () => {
  test('what was there at the first visit counts as read, what comes later does not until it is looked at', () => {
    let marks = firstMarks(NO_MARKS, [entry({ lastAt: 1000 })])
    expect(isUnread(entry({ lastAt: 1000 }), marks)).toBe(false)
    expect(isUnread(entry({ lastAt: 2000 }), marks)).toBe(true)
    marks = markSeen(marks, 'ses_1', 2000)
    expect(isUnread(entry({ lastAt: 2000 }), marks)).toBe(false)
    expect(isUnread(entry({ lastAt: 3000 }), marks)).toBe(true)
  })
  test('only a finished answer is unread', () => {
    const marks = { base: 0, seen: {} }
    expect(isUnread(entry({ state: 'working', outcome: undefined }), marks)).toBe(false)
    expect(isUnread(entry({ outcome: 'failed' }), marks)).toBe(false)
  })
  test('marks survive being kept, and nonsense is no marks', () => {
    const marks = markSeen({ base: 5, seen: {} }, 'ses_9', 9)
    expect(parseMarks(JSON.stringify(marks))).toEqual(marks)
    expect(parseMarks('{"base":"x"}')).toEqual(NO_MARKS)
    expect(parseMarks(null)).toEqual(NO_MARKS)
  })
})
