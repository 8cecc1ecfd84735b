import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Writes a `.gz` beside every text file of the page over 1 KB, so that the server never compresses an asset twice. */
export function compressed(): Plugin {
  let outDir = ''
  return {
    name: 'talaria:compressed',
    apply: 'build',
    enforce: 'post',
    applyToEnvironment: (environment) => environment.name === 'client',
    configResolved(config) {
      outDir = join(config.root, config.environments.client!.build.outDir)
    },
    closeBundle: {
      sequential: true,
      order: 'post',
      handler() {
        for (const file of textFiles(outDir)) {
          const bytes = readFileSync(file)
          if (bytes.length > 1024) writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
        }
      },
    },
  }
}

function textFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return textFiles(path)
    return /\.(html|js|css|svg|json|webmanifest)$/.test(name) ? [path] : []
  })
}
