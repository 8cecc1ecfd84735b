import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Changes } from '../../server/contract/wire'
import type { Row } from '../../server/contract/rows'
import { productFolder, removeFolder, startProduct } from '../support/product'
import type { Product } from '../support/product'
import { call, eventually, newChat, say } from '../wire/api'
import { startModel } from './model-server'
import type { ModelServer } from './model-server'

/** The real `hermes` that the tests drive; `npm run test:agents` installs it and names it. */
export function hermesProgram(): string {
  const named = process.env.TALARIA_TEST_HERMES
  if (!named) throw new Error('There is no Hermes Agent to test with. Run: npm run test:agents (it installs one), or name an installed one in TALARIA_TEST_HERMES.')
  return named
}

/** Writes what Hermes Agent needs to speak to a model server: a home as a person has it, and nothing that would go to a network. */
export function writeHome(home: string, base: string, more: { model?: string; key?: string; /** Seconds that an approval waits. */ timeout?: number; /** The model takes pictures. */ vision?: boolean; lines?: string[] } = {}): void {
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'config.yaml'), [
    'model:', '  provider: custom', `  default: ${more.model ?? 'fake-model'}`, `  base_url: ${base}`, '  api_key: ${TALARIA_TEST_KEY}', '  context_length: 128000', ...(more.vision ? ['  supports_vision: true'] : []),
    'approvals:', '  mode: manual', ...(more.timeout === undefined ? [] : [`  timeout: ${more.timeout}`]), 'security:', '  tirith_enabled: false', 'updates:', '  check: false', ...(more.lines ?? []), '',
  ].join('\n'))
  writeFileSync(join(home, '.env'), `TALARIA_TEST_KEY=${more.key ?? 'a-key-of-the-tests'}\n`, { mode: 0o600 })
}

/** Talaria as built, with the real Hermes Agent on its PATH and a fake model behind it. */
export class Stage {
  private constructor(readonly folder: string, readonly model: ModelServer, public server: Product, private readonly env: Record<string, string>) {}

  static async set(prepare: (folder: string, model: ModelServer) => void = (folder, model) => writeHome(join(folder, 'home'), model.base), env: Record<string, string> = {}): Promise<Stage> {
    const folder = productFolder()
    const model = await startModel(folder)
    prepare(folder, model)
    return new Stage(folder, model, await start(folder, env), env)
  }

  /** Starts the server again in the same folders. */
  async again(): Promise<void> {
    this.server = await start(this.folder, this.env)
  }

  chat(): Promise<string> {
    return newChat(this.server)
  }

  say(session: string, message: string): Promise<string> {
    return say(this.server, session, message)
  }

  async changes(session: string, headers: Record<string, string> = {}): Promise<Changes> {
    return (await call(this.server, 'GET /api/session/changes', { session_id: session, limit: 1000 }, headers)).body
  }

  /** The chat once its last run has settled. */
  over(session: string, run?: string, headers: Record<string, string> = {}): Promise<Changes> {
    return eventually(`the turn ends${run ? ` (${run})` : ''}`, async () => {
      const now = await this.changes(session, headers)
      const last = now.turns.at(-1)?.runs.at(-1)
      return last?.state === 'settled' && (run === undefined || now.turns.some(({ runs }) => runs.some((each) => each.id === run && each.state === 'settled'))) ? now : null
    }, 60_000)
  }

  /** The question that the chat asks now. */
  question(session: string): Promise<{ row: Row; kind: 'approval' | 'clarify' | 'secret'; id: string }> {
    return eventually('a question is asked', async () => {
      for (const row of (await this.changes(session)).rows) {
        if ((row.kind === 'tool' || row.kind === 'question') && row.approval?.state === 'open') return { row, kind: 'approval' as const, id: row.approval.id }
        if (row.kind === 'question' && row.clarify?.state === 'open') return { row, kind: 'clarify' as const, id: row.clarify.id }
        if (row.kind === 'question' && row.secret?.state === 'open') return { row, kind: 'secret' as const, id: row.secret.id }
      }
      return null
    }, 60_000)
  }

  /** Every process that works for this stage, but for the server and the model server: found by what it has open or was started with. */
  processes(): { pid: number; command: string }[] {
    return running(this.folder).filter(({ pid }) => pid !== this.server.child.pid && pid !== process.pid)
  }

  async strike(): Promise<void> {
    if (this.server.child.exitCode === null && this.server.child.signalCode === null) await this.server.end()
    await this.model.end()
    // A test that failed in the middle may have left its program behind.
    for (const { pid } of this.processes()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself.
      }
    }
    removeFolder(this.folder)
  }
}

function start(folder: string, env: Record<string, string>): Promise<Product> {
  return startProduct({ folder, env: { PATH: `${dirname(hermesProgram())}:${process.env.PATH ?? ''}`, TALARIA_LOCAL_MODELS: 'off', ...env } })
}

/** Processes whose folder, or whose variables for home, lie in `folder`; the model server, whose log lies there, has none of them. */
function running(folder: string): { pid: number; command: string }[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      const cwd = readlinkSync(`/proc/${name}/cwd`)
      const variables = readFileSync(`/proc/${name}/environ`, 'utf8')
      return command !== '' && (cwd.startsWith(folder) || variables.includes(`=${folder}/`)) ? [{ pid: Number(name), command }] : []
    } catch {
      return []
    }
  })
}

/** The text of all answers, in order. */
export function answerOf({ rows }: Changes): string {
  return rows.filter((row) => row.kind === 'answer').map((row) => row.text).join('')
}
