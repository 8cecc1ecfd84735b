import type { Timers } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'
import type { Counters } from './usage'

/** ms that an interrupt, a look and a close may take to be answered, and the counters of a turn. */
const INTERRUPT_MS = 4_000
const LOOK_MS = 2_000
const CLOSE_MS = 5_000
const COUNT_MS = 3_000

/** Whether something runs in a live session; one that is not there any more is idle. */
export async function stateOf(program: HermesProgram, live: string): Promise<'idle' | 'busy' | 'unknown'> {
  try {
    const { sessions } = await program.call('session.active_list', {}, { within: LOOK_MS })
    const mine = sessions?.find(({ id }) => id === live)
    return mine === undefined || mine.status === 'idle' ? 'idle' : 'busy'
  } catch {
    return 'unknown'
  }
}

/** False when nothing answered: the program hangs. */
export async function interrupt(program: HermesProgram, live: string): Promise<boolean> {
  try {
    await program.call('session.interrupt', { session_id: live }, { within: INTERRUPT_MS })
    return true
  } catch (error) {
    return !(error instanceof HermesFault && error.code === 'slow')
  }
}

/** Ends a live session; the stored one stays. Never rejects. */
export async function closeLive(program: HermesProgram, live: string): Promise<void> {
  await program.call('session.close', { session_id: live }, { within: CLOSE_MS }).catch(() => undefined)
}

export interface Count { counters: Counters; /** How many rows it has; absent when that is not known. */ rows: number | undefined }

/** The counters of a stored session; of one that has no row yet, none. Null when they cannot be had now. */
export async function countOf(program: HermesProgram, timers: Timers, stored: string): Promise<Count | null> {
  return await new Promise((resolve) => {
    const cancel = timers.after(COUNT_MS, () => resolve(null))
    program.stored(stored).then((found) => resolve(found ? { counters: found.counters, rows: found.messages } : { counters: {}, rows: 0 }), () => resolve(null)).finally(cancel)
  })
}
