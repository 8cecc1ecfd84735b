import queue from './en/queue'
import { en as first } from './index'
import { makeTranslate, type Pack } from './translate'

/** The catalogue of what a working chat does with messages: the waiting ones, and words into a run. */
export const en = { ...first, ...queue } as const satisfies Pack

/** As `t` of the first paint, with the words of these surfaces. */
export const t = makeTranslate<typeof en>(en, 'en')
