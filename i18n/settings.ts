import connect from './en/connect'
import settings from './en/settings'
import { en as first } from './index'
import { makeTranslate, type Pack } from './translate'

/** The catalogue of the surfaces that are opened later: the first screen, settings, and the form that both show. */
export const en = { ...first, ...connect, ...settings } as const satisfies Pack

export type MessageKey = keyof typeof en

/** As `t` of the first paint, with the words of these surfaces. */
export const t = makeTranslate<typeof en>(en, 'en')
