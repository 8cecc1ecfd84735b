import files from './en/files'
import { en as first } from './index'
import { makeTranslate, type Pack } from './translate'

/** The catalogue of files that people give with messages. */
export const en = { ...first, ...files } as const satisfies Pack

/** As `t` of the first paint, with the words of these surfaces. */
export const t = makeTranslate<typeof en>(en, 'en')
