import type { Reporter, TestModule } from 'vitest/node'

/** Prints the one line that continuous integration reads: `N passed, N failed`. */
export default class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let passed = 0
    let failed = 0
    let skipped = 0
    for (const module of modules) {
      let any = false
      for (const test of module.children.allTests()) {
        any = true
        const state = test.result().state
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
        else skipped++
      }
      if (!any || module.state() === 'failed') failed += any ? 0 : 1
    }
    console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} not run` : ''}`)
  }
}
