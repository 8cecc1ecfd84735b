// `npm run dev`: the page from Vite with hot replacement, the server rebuilt and restarted when its sources change.
// The page's API calls go through Vite to the server; there is no service worker here, so the page runs the same shim itself.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { build, createServer } from 'vite'
import { root } from './ensure.mjs'

const args = process.argv.slice(2)
let child = null
/** The free port that the first server took; its successors take it again, so that the page's proxy needs no news. */
let port = '0'

/** Starts the server on a free port and resolves with the address that it prints. */
function startServer() {
  return new Promise((resolve, reject) => {
    const next = spawn(process.execPath, [join(root, 'dist/server/main.js'), '--port', port, ...args], { stdio: ['ignore', 'pipe', 'inherit'], cwd: process.env.INIT_CWD ?? root })
    child = next
    let said = ''
    next.stdout.on('data', (bytes) => {
      process.stdout.write(bytes)
      said += bytes
      const address = /http:\/\/localhost:\d+/.exec(said)
      if (address) resolve(address[0])
    })
    next.on('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
}

async function endServer() {
  const old = child
  if (!old || old.exitCode !== null) return
  child = null
  await new Promise((resolve) => {
    old.on('exit', resolve)
    old.kill('SIGTERM')
  })
}

async function restart() {
  await endServer()
  port = new URL(await startServer()).port
}

const watcher = await build({ root, logLevel: 'warn', environments: {}, build: { ssr: 'server/main.ts', outDir: 'dist/server', emptyOutDir: false, target: 'node20', minify: false, sourcemap: true, watch: {}, rolldownOptions: { input: { main: 'server/main.ts', thread: 'server/store/thread.ts' }, output: { entryFileNames: '[name].js' } } } })
await new Promise((resolve, reject) => {
  watcher.on('event', (event) => {
    if (event.code === 'ERROR') console.error(event.error)
    if (event.code === 'END') restart().then(resolve, reject)
  })
})

const target = `http://localhost:${port}`
const page = await createServer({
  root,
  server: {
    proxy: {
      '^/(api/|health)': {
        target,
        changeOrigin: true,
        configure: (proxy) => proxy.on('proxyReq', (request) => request.getHeader('origin') && request.setHeader('origin', target)),
      },
    },
  },
})
await page.listen()
page.printUrls()
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    void Promise.all([endServer(), watcher.close(), page.close()]).then(() => process.exit(0))
  })
