import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = process.cwd()
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'talaria-borders-'))
  copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The imports of a file at `path` that the project's own rules refuse. */
function refused(path: string, imports: string[]): string[] {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, imports.map((name) => `import '${name}'\n`).join(''))
  const lint = spawnSync(process.execPath, [join(root, 'node_modules/oxlint/bin/oxlint'), '--config', '.oxlintrc.json', '-f', 'unix', path], { cwd: folder, encoding: 'utf8' })
  rmSync(file)
  expect(lint.error).toBeUndefined()
  return lint.stdout
    .split('\n')
    .filter((line) => line.includes('no-restricted-imports'))
    .map((line) => /: '([^']+)' import/.exec(line)![1]!)
    .sort()
}

test('the contract imports nothing but itself and the small validator', () => {
  expect(refused('server/contract/planted.ts', ['./ids', 'zod/mini', 'zod', 'node:fs', 'hono', '../store/port'])).toEqual(['../store/port', 'hono', 'node:fs', 'zod'])
  expect(refused('server/contract/routes/planted.ts', ['../ids', './chat', 'zod/mini', 'zod', 'node:fs', '../../store/port'])).toEqual(['../../store/port', 'node:fs', 'zod'])
})

test('the server never imports the page or the worker, and only one file knows the database driver', () => {
  expect(refused('server/runs/planted.ts', ['../contract/fold', '../../src/ui/button', '../../sw/shim', '@photostructure/sqlite'])).toEqual(['../../src/ui/button', '../../sw/shim', '@photostructure/sqlite'])
  expect(refused('server/store/driver.ts', ['@photostructure/sqlite'])).toEqual([])
})

test('the page knows the server by its contract alone, and the shim through its backend', () => {
  expect(refused('src/planted.ts', ['../server/contract/ids', '../server/store/port', '../sw/shim', 'node:fs', 'zod', 'zod/mini'])).toEqual(['../server/store/port', '../sw/shim', 'node:fs', 'zod'])
  expect(refused('src/backend/planted.ts', ['../../sw/shim', '../../sw/main', '../../server/runs/port'])).toEqual(['../../server/runs/port', '../../sw/main'])
})

test('copies and sync know no surface, so that the worker can run them', () => {
  expect(refused('src/cache/planted.ts', ['../sync/port', '../../server/contract/ids', '../ui/button', '../transcript/rows'])).toEqual(['../transcript/rows', '../ui/button'])
  expect(refused('sw/planted.ts', ['../src/cache/open', '../src/sync/port', '../server/contract/ids', '../src/ui/button', '../server/feed/port'])).toEqual(['../server/feed/port', '../src/ui/button'])
})
