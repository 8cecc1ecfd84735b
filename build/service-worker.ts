import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build as viteBuild, type Plugin } from 'vite'
import { licences } from './licences.ts'

/** Files that the worker keeps from the first visit on: the shell and what it needs to run offline. Everything else is fetched when used. */
function isShell(path: string): boolean {
  return /\.(html|js|css|woff2|svg|png|webmanifest)$/.test(path) && !/(^|\/)sw\.js$/.test(path) && !/-(cyrillic|vietnamese|latin-ext|greek)/.test(path)
}

/** Vite puts a hash of the content into the name of what it builds; such a file never changes. */
function isHashed(path: string): boolean {
  return path.startsWith('assets/')
}

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? walk(path) : [path]
  })
}

/**
 * Builds `sw/main.ts` after the page, with the list of shell files (`self.__WB_MANIFEST`) and an id of this build (`__BUILD__`, a digest of
 * that list) inside. The worker's own script is served uncached, so that a new build is noticed.
 */
export function serviceWorker(): Plugin {
  let root = ''
  let outDir = ''
  return {
    name: 'talaria:service-worker',
    apply: 'build',
    enforce: 'post',
    applyToEnvironment: (environment) => environment.name === 'client',
    configResolved(config) {
      root = config.root
      outDir = join(config.root, config.environments.client!.build.outDir)
    },
    closeBundle: {
      sequential: true,
      order: 'post',
      async handler() {
        const files = walk(outDir).map((file) => relative(outDir, file).split(sep).join('/')).filter(isShell).sort()
        const manifest = files.map((url) => ({
          url: `/${url}`,
          revision: isHashed(url) ? null : createHash('sha256').update(readFileSync(join(outDir, url))).digest('hex').slice(0, 16),
        }))
        const build = createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 12)
        await viteBuild({
          configFile: false,
          plugins: [licences('sw-licences.txt')],
          root,
          publicDir: false,
          logLevel: 'warn',
          define: { 'self.__WB_MANIFEST': JSON.stringify(manifest), __BUILD__: JSON.stringify(build), 'process.env.NODE_ENV': '"production"' },
          build: {
            outDir,
            emptyOutDir: false,
            target: 'es2022',
            rolldownOptions: { input: join(root, 'sw/main.ts'), output: { format: 'iife', entryFileNames: 'sw.js', codeSplitting: false } },
          },
        })
      },
    },
  }
}
