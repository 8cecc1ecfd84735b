import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = process.cwd()
let folder = ''
let child: ChildProcess | undefined

function npm(args: string[], cwd: string) {
  const done = spawnSync('npm', args, { cwd, encoding: 'utf8', env: { ...process.env, npm_config_update_notifier: 'false' } })
  if (done.status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${done.stdout}\n${done.stderr}`)
  return done.stdout
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'talaria-package-'))
})
afterAll(() => {
  child?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

test('the packed product installs into an empty folder, and its command serves a page and an API', async () => {
  const packed = JSON.parse(npm(['pack', '--json', '--silent', '--pack-destination', folder], root)) as { filename: string; files: { path: string }[] }[]
  const paths = packed[0]!.files.map((file) => file.path)
  expect(paths).toContain('dist/server/main.js')
  expect(paths).toContain('dist/client/index.html')
  expect(paths.filter((path) => !/^(dist\/|package\.json|README\.md|LICENSE)/.test(path))).toEqual([])

  const place = join(folder, 'place')
  mkdirSync(place)
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  npm(['install', '--prefer-offline', '--no-audit', '--no-fund', '--omit=dev', join(folder, archive)], place)
  const installed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { devDependencies: Record<string, string> }
  const present = readdirSync(join(place, 'node_modules'))
  for (const name of ['vite', 'solid-js', 'vitest', 'typescript', 'playwright-core'].filter((name) => name in installed.devDependencies)) expect(present).not.toContain(name)

  child = spawn(join(place, 'node_modules/.bin/talaria'), ['--port', '0', '--home', join(folder, 'home'), '--state', join(folder, 'state')], { stdio: ['ignore', 'pipe', 'pipe'], cwd: place })
  const address = await new Promise<string>((resolve, reject) => {
    let said = ''
    const hear = (bytes: Buffer) => {
      said += bytes
      const found = /http:\/\/localhost:\d+/.exec(said)
      if (found) resolve(found[0])
    }
    child!.stdout!.on('data', hear)
    child!.stderr!.on('data', hear)
    child!.on('exit', (code) => reject(new Error(`talaria ended with ${code}: ${said}`)))
  })
  expect(await (await fetch(address)).text()).toMatch(/^<!doctype html>/i)
  const made = await fetch(`${address}/api/session/new`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })
  expect(made.status).toBe(200)
  const ended = new Promise<number | null>((resolve) => child!.on('exit', resolve))
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})
