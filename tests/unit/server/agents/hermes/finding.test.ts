import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plainEnvironment, serveEnvironment } from '../../../../../server/agents/hermes/environment'
import { findPrograms } from '../../../../../server/agents/hermes/find'
import { isBelow, OLDEST, TESTED, versionIn, Versions } from '../../../../../server/agents/hermes/version'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'talaria-find-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const place = (path: string, text = '#!/bin/sh\necho "Hermes Agent v0.19.0 (2026.7.20)"\n', mode = 0o755): string => {
  const whole = join(folder, path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, text)
  chmodSync(whole, mode)
  return whole
}
/** Of those that a test has put somewhere; the machine may have its own. */
const found = async (env: Record<string, string>): Promise<string[]> => (await findPrograms({ env, homedir: join(folder, 'person') })).filter((path) => path.startsWith(folder))

describe('finding Hermes', () => {
  it('looks along PATH first, then at the usual places', async () => {
    const usual = place('person/.hermes/hermes-agent/venv/bin/hermes')
    const local = place('person/.local/bin/hermes')
    const second = place('b/hermes')
    place('a/hermes', 'not a program', 0o644)
    mkdirSync(join(folder, 'c/hermes'), { recursive: true })
    expect(await found({ PATH: `${folder}/a:${folder}/c:${folder}/b:${folder}/none` })).toEqual([second, local, usual])
    expect(await found({})).toEqual([local, usual])
  })

  it('looks only below the folder that the environment names', async () => {
    place('person/.local/bin/hermes')
    const path = place('path/hermes')
    expect(await found({ PATH: dirname(path), HERMES_WEBUI_AGENT_DIR: join(folder, 'agent') })).toEqual([])
    const dotted = place('agent/.venv/bin/hermes')
    expect(await found({ PATH: dirname(path), HERMES_WEBUI_AGENT_DIR: join(folder, 'agent') })).toEqual([dotted])
    const plain = place('agent/venv/bin/hermes')
    expect(await found({ HERMES_WEBUI_AGENT_DIR: ` ${join(folder, 'agent')} ` })).toEqual([plain, dotted])
  })

  it('takes no program from where the server happens to stand', async () => {
    expect(await findPrograms({ env: { PATH: `:.:bin:tests` }, homedir: join(folder, 'person') }).then((paths) => paths.filter((path) => !path.startsWith('/')))).toEqual([])
    expect(await findPrograms({ env: { HERMES_WEBUI_AGENT_DIR: 'agent' }, homedir: folder })).toEqual([])
  })

  it('knows its version by its word, and another program of the name by having none', () => {
    expect(versionIn('Hermes Agent v0.19.0 (2026.7.20)\nPython: 3.11.7')).toBe('0.19.0')
    expect(versionIn('warning: x\nHermes Agent 1.2\n')).toBe('1.2')
    expect(versionIn('Hermes JavaScript compiler\nHermes release version: 0.12.0')).toBeNull()
    expect(versionIn('')).toBeNull()
    expect([isBelow('0.17.9', OLDEST), isBelow('0.18.0', OLDEST), isBelow('0.18.7', TESTED), isBelow('0.19.0', TESTED), isBelow('0.20.1', TESTED), isBelow('1.0', OLDEST)]).toEqual([true, false, true, false, false, false])
  })

  it('asks each program once as long as its file is the same, in a home of ours, with nothing of the shell', async () => {
    const path = place('bin/hermes', `#!/bin/sh\necho asked >> ${folder}/asked\nenv > ${folder}/env\necho "Hermes Agent v0.18.2"\n`)
    const versions = new Versions(join(folder, 'ours'), plainEnvironment({ PATH: process.env.PATH, OPENAI_API_KEY: 'k', HERMES_HOME: '/real' }, '/person'))
    expect(await Promise.all([versions.of(path), versions.of(path)])).toEqual(['0.18.2', '0.18.2'])
    expect(await versions.of(path)).toBe('0.18.2')
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('asked\n')
    const env = readFileSync(join(folder, 'env'), 'utf8')
    expect(env).toContain(`HERMES_HOME=${folder}/ours/home\n`)
    expect(env).toContain('HOME=/person\n')
    expect(env).not.toContain('OPENAI_API_KEY')
    writeFileSync(path, '#!/bin/sh\necho "Hermes Agent v0.19.1 "\n')
    expect(await versions.of(path)).toBe('0.19.1')
    expect(await versions.of(join(folder, 'none'))).toBeNull()
    expect(await versions.of(place('bin/other', '#!/bin/sh\nexit 1\n'))).toBeNull()
  })
})

describe('the environment of Hermes', () => {
  it('holds what programs need, the way to the network, and nothing that is ours or another profile\'s', () => {
    const ours = { PATH: '/bin', HOME: '/me', LC_ALL: 'C', HTTPS_PROXY: 'http://p', SSL_CERT_FILE: '/c', HERMES_MANAGED: '1', HERMES_HOME: '/x', HERMES_DASHBOARD_SESSION_TOKEN: 't', PYTHONPATH: '/p', VIRTUAL_ENV: '/v', LD_PRELOAD: 'l', NODE_OPTIONS: 'n', OPENROUTER_API_KEY: 'k', TALARIA_RUN: 'r', HERMES_WEBUI_PORT: '1' }
    expect(plainEnvironment(ours, '/home')).toEqual({ PATH: '/bin', HOME: '/me', LC_ALL: 'C', HTTPS_PROXY: 'http://p', SSL_CERT_FILE: '/c', HERMES_MANAGED: '1', LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1' })
    expect(plainEnvironment({ LANG: 'de_DE.UTF-8' }, '/home')).toEqual({ LANG: 'de_DE.UTF-8', HOME: '/home', PYTHONUNBUFFERED: '1' })
    expect(serveEnvironment({}, '/home', { root: '/root', token: 'tok', managed: null })).toEqual({ HOME: '/home', LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1', HERMES_HOME: '/root', HERMES_DASHBOARD_SESSION_TOKEN: 'tok', HERMES_TUI_TOOL_PROGRESS: 'verbose' })
  })
})
