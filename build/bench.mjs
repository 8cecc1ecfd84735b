// `npm run bench [name…]`: bundles tests/bench/main.ts and runs it; each line on stdout is one JSON object.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './ensure.mjs'

const outDir = join(root, 'node_modules/.cache/bench')
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: { ssr: 'tests/bench/main.ts', outDir, emptyOutDir: true, target: 'node20', minify: false, rolldownOptions: { external: [/^[^./]/], output: { entryFileNames: 'main.mjs' } } },
})
process.exit(spawnSync(process.execPath, ['--expose-gc', join(outDir, 'main.mjs'), ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' }).status ?? 1)
