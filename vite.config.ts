import { defineConfig } from 'vite'
import solid from 'vite-plugin-solid'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { serviceWorker } from './build/service-worker.ts'
import { licences } from './build/licences.ts'
import { compressed } from './build/compressed.ts'

const pack = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as { version: string; dependencies: Record<string, string> }

/** Packages of `dependencies` stay outside the bundle (the database driver brings binaries); all else is in it, because reading many small files is half of a start. */
const outside = [...builtinModules, /^node:/, ...Object.keys(pack.dependencies).map((name) => new RegExp(`^${name}(/|$)`))]

const dist = process.env.TALARIA_DIST ?? 'dist'

export default defineConfig({
  plugins: [solid(), licences(), serviceWorker(), compressed()],
  define: { __VERSION__: JSON.stringify(pack.version) },
  environments: {
    client: {
      build: {
        outDir: `${dist}/client`,
        emptyOutDir: true,
        target: 'es2022',
        // Newer than the script target: light-dark() and nesting must reach the browser as written.
        cssTarget: ['chrome125', 'firefox128', 'safari17.5'],
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        rolldownOptions: {
          checks: { pluginTimings: false },
          // The words of the first paint are one file, as every other language's will be; all else that the first paint needs is another: each file is a request.
          output: {
            codeSplitting: {
              groups: [
                { name: 'locale-en', test: (id: string) => /\/i18n\/en\//.test(id) && !/\/(settings|connect|queue|approvals|endings)\.ts/.test(id) },
                { name: 'base', test: (id: string) => /node_modules.solid-js|\/i18n\/(index|translate|format)\.ts|\/src\/shell\/reason\.ts/.test(id) },
              ],
            },
          },
        },
      },
    },
    server: {
      consumer: 'server',
      build: {
        ssr: true,
        outDir: `${dist}/server`,
        emptyOutDir: true,
        target: 'node20',
        minify: false,
        sourcemap: true,
        copyPublicDir: false,
        rolldownOptions: {
          input: { main: 'server/main.ts', thread: 'server/store/thread.ts' },
          external: outside,
          output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', banner: (chunk) => (chunk.name === 'main' ? '#!/usr/bin/env node' : '') },
        },
      },
      resolve: { noExternal: true, external: Object.keys(pack.dependencies) },
    },
  },
  builder: {},
  worker: { format: 'es', plugins: () => [licences('worker-licences.txt')] },
})
