import approvals from './en/approvals'
import composer from './en/composer'
import connect from './en/connect'
import connection from './en/connection'
import sessions from './en/sessions'
import settings from './en/settings'
import shell from './en/shell'
import time from './en/time'
import transcript from './en/transcript'
import { makeTranslate, type Pack } from './translate'

/** English, the typed base of every other catalogue; one file per surface. */
export const en = { ...approvals, ...composer, ...connect, ...connection, ...sessions, ...settings, ...shell, ...time, ...transcript } as const satisfies Pack

export type Catalogue = typeof en
export type MessageKey = keyof Catalogue

/** Every word of the interface goes through here. */
export const t = makeTranslate<Catalogue>(en, 'en')
