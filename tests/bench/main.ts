import { bench as hermes } from './hermes'
import { bench as page } from './page'
import { bench as runs } from './runs'
import { bench as server } from './server'
import { bench as store } from './store'

/** One measured line of `npm run bench`: a budget of DESIGN §8, what was measured, and whether it held. */
export interface Result {
  name: string
  /** What the number counts, such as `ms p50` or `ratio`. */
  unit: string
  value: number
  budget?: number
  /** False when a budget that is a ratio was missed; absolute times only inform. */
  held?: boolean
  note?: string
}

const suites: Record<string, () => Promise<Result[]>> = { store, server, runs, page, hermes }
const named = process.argv.slice(2)
// The real Hermes Agent is installed only when its suite is asked for.
const wanted = named.length ? named : ['store', 'server', 'runs', 'page']
let missed = 0
for (const [name, run] of Object.entries(suites)) {
  if (!wanted.includes(name)) continue
  for (const result of await run()) {
    console.log(JSON.stringify({ suite: name, ...result }))
    if (result.held === false) missed++
  }
}
process.exit(missed ? 1 : 0)
