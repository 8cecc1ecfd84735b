import { t } from './index'

/**
 * Times and sizes as the interface writes them (design/LANGUAGE.md §4). Amount and unit are joined by a no-break space.
 * All take milliseconds; `now` is passed in, so that nothing here reads a clock.
 */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `0.4 s`, `18 s`, `1 min 48 s`, `2 h 5 min`: how long something took. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / SECOND
  if (seconds < 0.95) return t('time.seconds', { n: Math.max(0.1, Math.round(seconds * 10) / 10) })
  if (seconds < 59.5) return t('time.seconds', { n: Math.round(seconds) })
  const whole = Math.round(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  if (hours > 0) return minutes ? `${t('time.hours', { n: hours })} ${t('time.minutes', { n: minutes })}` : t('time.hours', { n: hours })
  const rest = whole % 60
  return rest ? `${t('time.minutes', { n: minutes })} ${t('time.seconds', { n: rest })}` : t('time.minutes', { n: minutes })
}

/** `0:42`, `12:05`, `1:02:07`: how long something has been running. */
export function running(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / SECOND))
  const two = (n: number) => String(n).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}

/** `now`, `8 min`, `2 h`, `3 d`, `4 wk`, then `12 Oct`: how long ago something was. */
export function age(at: number, now: number, locale = 'en'): string {
  const ms = now - at
  if (ms < MINUTE) return t('time.now')
  if (ms < HOUR) return t('time.minutes', { n: Math.floor(ms / MINUTE) })
  if (ms < DAY) return t('time.hours', { n: Math.floor(ms / HOUR) })
  if (ms < 7 * DAY) return t('time.days', { n: Math.floor(ms / DAY) })
  if (ms < 35 * DAY) return t('time.weeks', { n: Math.floor(ms / (7 * DAY)) })
  const date = new Date(at)
  const sameYear = date.getFullYear() === new Date(now).getFullYear()
  return written(date, sameYear ? 'day' : 'year', locale)
}

/** `08:19` today, `21 Nov, 08:19` on another day. */
export function clock(at: number, now: number, locale = 'en'): string {
  const date = new Date(at)
  const time = written(date, 'time', locale)
  return date.toDateString() === new Date(now).toDateString() ? time : `${written(date, 'day', locale)}, ${time}`
}

const STYLES = {
  time: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  year: { day: 'numeric', month: 'short', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>
const made = new Map<string, Intl.DateTimeFormat>()

/** A formatter is made once: that costs more than all else of a row of the list. A device that travels gets another. */
function written(date: Date, style: keyof typeof STYLES, locale: string): string {
  const key = `${locale} ${style} ${date.getTimezoneOffset()}`
  let format = made.get(key)
  if (!format) made.set(key, (format = new Intl.DateTimeFormat(locale === 'en' ? 'en-GB' : locale, STYLES[style])))
  return format.format(date)
}

/** `84 MB`, `1.2 MB`, `310 KB`. */
export function bytes(n: number): string {
  const nbsp = '\u00a0'
  if (n < 1000) return `${n}${nbsp}B`
  if (n < 1_000_000) return `${Math.round(n / 1000)}${nbsp}KB`
  const mega = n / 1_000_000
  return `${mega < 10 ? Math.round(mega * 10) / 10 : Math.round(mega)}${nbsp}MB`
}

/** `31k`, `1.2k`, `840`: counts of tokens. */
export function tokens(n: number): string {
  if (n < 1000) return String(n)
  const thousands = n / 1000
  return `${thousands < 10 ? Math.round(thousands * 10) / 10 : Math.round(thousands)}k`
}
