import { defineConfig } from 'vitest/config'
import solid from 'vite-plugin-solid'

const node = (name: string, include: string[], more: Record<string, unknown> = {}) => ({ test: { name, environment: 'node', include, ...more } })

export default defineConfig({
  test: {
    reporters: process.env.CI ? ['default', './tests/support/tally.ts'] : ['default', './tests/support/tally.ts'],
    projects: [
      node('unit', ['tests/unit/server/**/*.test.ts']),
      { plugins: [solid()], test: { name: 'page', environment: 'happy-dom', include: ['tests/unit/src/**/*.test.{ts,tsx}'] } },
      node('model', ['tests/model/**/*.test.ts'], { testTimeout: 300_000 }),
      node('wire', ['tests/wire/**/*.test.ts'], { testTimeout: 60_000 }),
      node('agent', ['tests/agent/**/*.test.ts'], { testTimeout: 60_000 }),
      node('crash', ['tests/crash/**/*.test.ts'], { testTimeout: 300_000, fileParallelism: false }),
      node('package', ['tests/package/**/*.test.ts'], { testTimeout: 300_000, fileParallelism: false }),
      node('browser', ['tests/browser/**/*.test.ts'], { testTimeout: 180_000, hookTimeout: 120_000, fileParallelism: false }),
    ],
  },
})
