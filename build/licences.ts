import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/** Writes a file into the output: the licences of all packages whose code the build has taken in, as they ask for. */
export function licences(fileName = 'licences.txt'): Plugin {
  return {
    name: 'talaria:licences',
    apply: 'build',
    generateBundle() {
      const folders = new Set<string>()
      for (const id of this.getModuleIds()) {
        const found = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)
        if (found) folders.add(found[1]!)
      }
      const parts = [...folders].sort().flatMap((folder) => {
        if (!existsSync(join(folder, 'package.json'))) return []
        const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; version: string; license?: string }
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
        return [`${name} ${version} (${license ?? 'no licence named'})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}`]
      })
      this.emitFile({ type: 'asset', fileName, source: `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n` })
    },
  }
}
