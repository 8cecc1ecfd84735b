import type { LiveRun } from './run'
import { refusalOf } from './refuse'

/**
 * Stops a run (spec/log.md §9): claimed at once, which closes its mailbox; answered when `run.stopping` has committed; then the agent is told,
 * and given up after the ladder's time. False when the run had settled before.
 */
export async function stop(run: LiveRun, by: 'person' | 'server' | 'delete'): Promise<boolean> {
  if (run.stopping === null) {
    if (run.settled) {
      await run.settled
      return false
    }
    run.mailbox.close()
    run.stopping = run.ledger.write({ drafts: [{ type: 'run.stopping', run: run.id, turn: run.turn, by }], generation: run.generation })
    run.stopping.then(() => run.tellStop(by, run.ladder), () => undefined)
  }
  try {
    await run.stopping
    return true
  } catch (error) {
    throw refusalOf(error)
  }
}
