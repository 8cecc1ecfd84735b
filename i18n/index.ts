import composer from './en/composer'
import connection from './en/connection'
import sessions from './en/sessions'
import shell from './en/shell'
import time from './en/time'
import transcript from './en/transcript'
import { makeTranslate, type Pack } from './translate'

/**
 * English, the typed base of every other catalogue, one file per surface. These are the surfaces of the first paint; what is opened later
 * brings its words along (`settings.ts`).
 */
export const en = { ...composer, ...connection, ...sessions, ...shell, ...time, ...transcript } as const satisfies Pack

export type Catalogue = typeof en
export type MessageKey = keyof Catalogue

/** Every word of the interface goes through here. */
export const t = makeTranslate<Catalogue>(en, 'en')
