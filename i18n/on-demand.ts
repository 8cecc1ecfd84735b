import approvals from './en/approvals'
import endings from './en/endings'
import { en as first } from './index'
import { makeTranslate, type Pack } from './translate'

/** The catalogue of what an open chat shows only now and then: questions of a run, and how a turn ended that did not simply answer. */
export const en = { ...first, ...approvals, ...endings } as const satisfies Pack

export type LateKey = keyof typeof en

/** As `t` of the first paint, with the words of these surfaces. */
export const t = makeTranslate<typeof en>(en, 'en')
