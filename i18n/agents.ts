import agents from './en/agents'
import { en as first } from './index'
import { makeTranslate, type Pack } from './translate'

/** The catalogue of agents: their state in a chat's header and their page in the settings. Loaded with them. */
export const en = { ...first, ...agents } as const satisfies Pack

export type AgentKey = keyof typeof en

/** As `t` of the first paint, with the words of these surfaces. */
export const t = makeTranslate<typeof en>(en, 'en')
