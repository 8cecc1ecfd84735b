import { readBody } from '../http/body'
import type { Call } from './call'

/** Kept in memory, newest last, for people and tests; a page that sends many cannot fill it. */
const KEPT = 100
const REPORT_CAP = 64 * 1024

export interface Reports {
  kept(): readonly string[]
  /** Takes one report and answers nothing, also when it is thrown away. */
  take(call: Pick<Call<'POST /api/csp-report'>, 'request' | 'response'>): Promise<void>
}

/** What browsers report about the content policy. It is exempt from the origin checks: browsers send it in their own way (spec/server.md §2.4). */
export function makeReports(log: (words: string) => void): Reports {
  const kept: string[] = []
  return {
    kept: () => kept,
    async take({ request, response }) {
      const text = (await readBody(request, response, { cap: REPORT_CAP, idleMs: 5000 })).toString('utf8')
      if (kept.length >= KEPT) return
      kept.push(text)
      log(`content policy report: ${text.slice(0, 1000).replace(/[\x00-\x1f\x7f]/g, ' ')}`)
    },
  }
}
