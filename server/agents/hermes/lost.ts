import type { Timers } from '../port'
import { HermesFault } from './port'

/** How often something is tried while the program dies under it, and ms between: its sockets go before it is known to have ended, and the next try starts it anew. */
const TRIES = 4
const PAUSE = 250

/** Does what may be done twice, and does it again where the program was lost under it. */
export async function unlessLost<T>(timers: Timers, work: () => Promise<T>, goOn: () => boolean = () => true, tries = TRIES): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (tries <= 1 || !isLost(error) || !goOn()) throw error
    await new Promise<void>((resolve) => void timers.after(PAUSE, resolve))
    return unlessLost(timers, work, goOn, tries - 1)
  }
}

export function isLost(error: unknown): boolean {
  return error instanceof HermesFault && error.code === 'lost'
}
