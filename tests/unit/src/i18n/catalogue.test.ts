import { describe, expect, test } from 'vitest'
import { t } from '../../../../i18n'
import { en as agents } from '../../../../i18n/agents'
import { en as files } from '../../../../i18n/files'
import { en as late } from '../../../../i18n/on-demand'
import { en as queue } from '../../../../i18n/queue'
import { en as settings } from '../../../../i18n/settings'
import { age, bytes, clock, duration, running } from '../../../../i18n/format'
import { makeTranslate } from '../../../../i18n/translate'

const en = { ...settings, ...queue, ...late, ...agents, ...files }
const surfaces = import.meta.glob<{ default: Record<string, unknown> }>('../../../../i18n/en/*.ts', { eager: true })

describe('the English catalogue', () => {
  test('holds every message of every surface, each key once', () => {
    const keys = Object.values(surfaces).flatMap((surface) => Object.keys(surface.default))
    expect(new Set(keys).size).toBe(keys.length)
    expect(Object.keys(en).sort()).toEqual(keys.sort())
  })

  test('says something in every message, with no blanks at the ends and no markup', () => {
    for (const [key, message] of Object.entries(en)) {
      for (const text of typeof message === 'string' ? [message] : Object.values(message)) {
        expect(text, key).not.toBe('')
        // A spoken prefix may end in its blank.
        expect(text, key).toBe(text.endsWith(': ') ? text.trimStart() : text.trim())
        expect(text, key).not.toMatch(/<[a-z/]/i)
        expect(text, key).not.toMatch(/!$/)
      }
    }
  })

  test('has the plural categories of its language', () => {
    const categories = new Intl.PluralRules('en').resolvedOptions().pluralCategories.sort()
    for (const [key, message] of Object.entries(en)) if (typeof message !== 'string') expect(Object.keys(message).sort(), key).toEqual(categories)
  })
})

describe('the runtime', () => {
  test('puts values in and chooses the plural', () => {
    expect(t('trace.steps', { n: 1 })).toBe('1 step')
    expect(t('trace.steps', { n: 1200 })).toBe('1,200 steps')
    expect(t('list.notHere.why', { title: 'a {n} b' })).toContain('“a {n} b”')
  })
  test('falls back to the base, in the plural rules of the base', () => {
    const translate = makeTranslate({ a: 'one', b: { one: '{n} step', other: '{n} steps' } }, 'en', { a: 'eins' }, 'ja')
    expect(translate('a')).toBe('eins')
    expect(translate('b', { n: 1 })).toBe('1 step')
  })
})

describe('times and sizes', () => {
  const nbsp = (text: string) => text.replaceAll('\u00a0', ' ')
  test('how long something took', () => {
    expect(nbsp(duration(20))).toBe('0.1 s')
    expect(nbsp(duration(400))).toBe('0.4 s')
    expect(nbsp(duration(18_200))).toBe('18 s')
    expect(nbsp(duration(59_800))).toBe('1 min')
    expect(nbsp(duration(108_000))).toBe('1 min 48 s')
    expect(nbsp(duration(7_500_000))).toBe('2 h 5 min')
  })
  test('how long something has been running', () => {
    expect(running(-5)).toBe('0:00')
    expect(running(42_900)).toBe('0:42')
    expect(running(3_727_000)).toBe('1:02:07')
  })
  test('how long ago something was', () => {
    const now = new Date(2026, 10, 21, 12).getTime()
    const ago = (minutes: number) => nbsp(age(now - minutes * 60_000, now))
    expect([ago(0), ago(8), ago(120), ago(3 * 1440), ago(28 * 1440), ago(40 * 1440)]).toEqual(['now', '8 min', '2 h', '3 d', '4 wk', '12 Oct'])
    expect(nbsp(age(new Date(2025, 9, 12, 12).getTime(), now))).toBe('12 Oct 2025')
  })
  test('the time of day, with the day when it was another', () => {
    const now = new Date(2026, 10, 21, 12).getTime()
    expect(clock(new Date(2026, 10, 21, 8, 19).getTime(), now)).toBe('08:19')
    expect(clock(new Date(2026, 10, 20, 8, 19).getTime(), now)).toBe('20 Nov, 08:19')
  })
  test('weights', () => {
    expect([bytes(310), bytes(310_000), bytes(1_200_000), bytes(84_000_000)].map(nbsp)).toEqual(['310 B', '310 KB', '1.2 MB', '84 MB'])
  })
})
