import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** A request that the model server was sent. */
export interface ModelRequest { url: string; model: string; key: string | null; body: { messages?: { role: string; content: unknown }[]; tools?: unknown[] } }

/** The fake model server as a process of its own: it does what the directives of a message say (`model/fake-model.mjs`, top of the file). */
export interface ModelServer {
  /** Base address for an OpenAI-compatible client. */
  base: string
  /** Calls that carried a conversation, oldest first. */
  requests(): ModelRequest[]
  end(): Promise<void>
}

/** Starts one on a port of its own; `folder` keeps its log. */
export async function startModel(folder: string, name = 'model'): Promise<ModelServer> {
  const log = join(folder, `${name}.jsonl`)
  const child = spawn(process.execPath, [resolve('tests/real/model/fake-model.mjs'), '--port', '0', '--log', log, '--scripts', join(folder, 'scripts.json')], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH ?? '' } })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  const port = await new Promise<number>((found, failed) => {
    child.stdout.once('data', (line: Buffer) => found((JSON.parse(String(line)) as { port: number }).port))
    void ended.then(() => failed(new Error('the model server ended')))
  })
  return {
    base: `http://127.0.0.1:${port}/v1`,
    requests() {
      let text = ''
      try {
        text = readFileSync(log, 'utf8')
      } catch {
        return []
      }
      return text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as ModelRequest).filter(({ url }) => /completions|responses/.test(url ?? ''))
    },
    async end() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
