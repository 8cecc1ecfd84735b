import type { Connection } from '../../server/store/driver'
import type { StartThread } from '../../server/store/link'
import { startInline } from './store-inline'

/** How a call of the driver fails: the disk is full, for which SQLite ends the transaction by itself; or it failed, and the transaction is left to the store. */
export type DriverFault = 'full' | 'failed'

/** What a test knows of the writer's driver, and when that fails: asked for each of its calls, `n` counting from 1. */
export interface DriverPlan { calls: number; fault(n: number): DriverFault | undefined }

const CODES: Record<DriverFault, number> = { full: 13, failed: 10 }

/** The store's work on this thread, over a driver that fails by plan. What it reports has not happened. */
export function startFaulty(plan: DriverPlan): StartThread {
  return (data) => startInline(data, (db) => failing(db, plan))
}

function failing(db: Connection, plan: DriverPlan): Connection {
  const meet = (): void => {
    const fault = plan.fault(++plan.calls)
    if (!fault) return
    if (fault === 'full' && db.inTransaction) db.exec('ROLLBACK')
    throw Object.assign(new Error(fault === 'full' ? 'database or disk is full' : 'disk I/O error'), { errcode: CODES[fault] })
  }
  return {
    exec: (sql) => (meet(), db.exec(sql)),
    run: (sql, ...values) => (meet(), db.run(sql, ...values)),
    get: (sql, ...values) => (meet(), db.get(sql, ...values)),
    all: (sql, ...values) => (meet(), db.all(sql, ...values)),
    get inTransaction() { return db.inTransaction },
    close: () => db.close(),
  }
}
