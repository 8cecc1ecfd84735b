import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openStore, type StoreOptions } from '../../server/store/open'
import type { Store } from '../../server/store/port'

/** The project's folder, also where this file runs bundled, as in the bench. */
const root = (() => {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'server/store/thread.ts'))) folder = dirname(folder)
  return folder
})()

/** Opens a real store from the sources: the thread is built once for the state that the sources are in. */
export async function openTestStore(opts: Partial<StoreOptions> & { folder: string }): Promise<Store> {
  const threads = opts.start ? {} : { threadUrl: pathToFileURL(await built('server/store/thread.ts')) }
  return openStore({ clock: Date.now, random: Math.random, version: 'test', ...threads, ...opts })
}

/** A new folder under the system's temporary one. */
export function freshFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `talaria-${name}-`))
}

/**
 * Path of a TypeScript file as a module that plain Node runs, with its own sources bundled in. The name holds a digest of the file and of
 * the sources of server and test support, so parallel test processes share it and an old one is never used.
 */
export async function built(entry: string): Promise<string> {
  const folder = join(root, 'node_modules', '.cache', 'talaria-tests', digest(entry))
  const file = join(folder, 'entry.js')
  if (existsSync(file)) return file
  const { build } = await import('vite')
  mkdirSync(dirname(folder), { recursive: true })
  const fresh = mkdtempSync(`${folder}-`)
  await build({
    configFile: false, root, logLevel: 'error',
    build: {
      ssr: entry, outDir: fresh, emptyOutDir: false, target: 'node20', minify: false, copyPublicDir: false,
      rolldownOptions: { external: [/^node:/, /^[^./]/], output: { entryFileNames: 'entry.js', codeSplitting: false } },
    },
  })
  try {
    renameSync(fresh, folder)
  } catch {
    // Another process was faster.
    rmSync(fresh, { recursive: true, force: true })
  }
  return file
}

function digest(entry: string): string {
  const hash = createHash('sha256').update(readFileSync(join(root, entry))).update(entry)
  for (const part of ['server', 'tests/support']) {
    for (const name of readdirSync(join(root, part), { recursive: true, encoding: 'utf8' }).sort()) {
      if (name.endsWith('.ts')) hash.update(name).update(readFileSync(join(root, part, name)))
    }
  }
  return hash.digest('hex').slice(0, 24)
}
