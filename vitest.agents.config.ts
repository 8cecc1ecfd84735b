import { defineConfig } from 'vitest/config'

/** The suites that drive real programs (`npm run test:agents`). One file at a time: each has processes of its own, and the machine is small. */
export default defineConfig({
  test: {
    name: 'real', environment: 'node', include: ['tests/real/**/*.test.ts'], reporters: ['default', './tests/support/tally.ts'],
    testTimeout: 180_000, hookTimeout: 120_000, fileParallelism: false,
  },
})
