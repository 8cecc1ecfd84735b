import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('every pair of colours that the interface uses keeps its contrast, in both modes and in every skin', () => {
  const measured = spawnSync(process.execPath, ['build/contrast.mjs'], { encoding: 'utf8' })
  expect(measured.stdout + measured.stderr).not.toMatch(/outside sRGB/)
  expect(measured.status, measured.stdout).toBe(0)
})
