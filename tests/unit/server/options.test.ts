import { describe, expect, it } from 'vitest'
import { parseOptions } from '../../../server/options'
import type { Options } from '../../../server/options'

const machine = { homedir: '/home/ann', cwd: '/home/ann/code' }
function options(argv: string[] = [], env: Record<string, string> = {}): Options {
  const parsed = parseOptions(argv, env, machine)
  if (parsed.state !== 'run') throw new Error(JSON.stringify(parsed))
  return parsed.options
}

describe('what a start was told', () => {
  it('by nobody', () => {
    expect(options()).toEqual({
      addresses: ['127.0.0.1', '::1'], port: 8787, home: '/home/ann/.hermes', state: '/home/ann/.hermes/webui', workspace: '/home/ann/workspace', allowedHosts: new Set(), allowedOrigins: new Set(), open: false, demo: false, scriptedDetached: false,
    })
  })
  it('by the environment, under the original’s names', () => {
    const env = { HERMES_HOME: '/srv/hermes', HERMES_WEBUI_PORT: '9000', HERMES_WEBUI_HOST: 'localhost', HERMES_WEBUI_DEFAULT_WORKSPACE: '~/here', HERMES_WEBUI_ALLOWED_HOSTS: 'Chat.Example:443, other.example' }
    expect(options([], env)).toMatchObject({ home: '/srv/hermes', state: '/srv/hermes/webui', port: 9000, workspace: '/home/ann/here', allowedHosts: new Set(['chat.example', 'other.example']) })
    expect(options([], { HERMES_WEBUI_ALLOWED_ORIGINS: 'https://Chat.Example:443/, http://box.local:9000' }).allowedOrigins).toEqual(new Set(['https://chat.example', 'http://box.local:9000']))
    expect(options([], { HERMES_WEBUI_STATE_DIR: '/var/tmp/state' }).state).toBe('/var/tmp/state')
  })
  it('how long the log keeps the steps of answers that have ended: days, or always', () => {
    expect(options().keepEventsMs).toBeUndefined()
    expect(options([], { TALARIA_KEEP_EVENTS: '7' }).keepEventsMs).toBe(7 * 24 * 3600 * 1000)
    expect(options([], { TALARIA_KEEP_EVENTS: ' Always ' }).keepEventsMs).toBe(Infinity)
    for (const wrong of ['0', '-1', '1.5', 'soon', '999999']) expect(parseOptions([], { TALARIA_KEEP_EVENTS: wrong }, machine)).toMatchObject({ state: 'wrong', words: expect.stringContaining(wrong) })
  })
  it('by flags, which beat the environment', () => {
    const env = { HERMES_HOME: '/a', HERMES_WEBUI_PORT: '1', HERMES_WEBUI_HOST: '0.0.0.0', HERMES_WEBUI_STATE_DIR: '/b' }
    expect(options(['--home', 'rel', '--port=0', '--host', '127.0.0.1', '--state', '~/s', '--open', '--demo'], env)).toMatchObject({
      home: '/home/ann/code/rel', port: 0, addresses: ['127.0.0.1', '::1'], state: '/home/ann/s', open: true, demo: true,
    })
  })
  it('a blank variable is none', () => {
    expect(options([], { HERMES_WEBUI_PORT: ' ', HERMES_HOME: '' })).toMatchObject({ port: 8787, home: '/home/ann/.hermes' })
  })
  it('another loopback address is that one alone', () => {
    expect(options(['--host', '127.0.0.2']).addresses).toEqual(['127.0.0.2'])
    for (const host of ['localhost', '::1', '[::1]', 'LOCALHOST']) expect(options(['--host', host]).addresses).toEqual(['127.0.0.1', '::1'])
  })
})

describe('what does not start', () => {
  const words = (argv: string[], env: Record<string, string> = {}) => {
    const parsed = parseOptions(argv, env, machine)
    return parsed.state === 'wrong' ? parsed.words : parsed.state
  }
  it.each(['0.0.0.0', '::', '10.0.0.5', 'box.example', '192.168.1.2', '127.0.0.1.example'])('on %s, which others can reach', (host) => {
    expect(words(['--host', host])).toContain('no sign-in yet')
    expect(words([], { HERMES_WEBUI_HOST: host })).toContain('no sign-in yet')
  })
  it.each([['--port', 'x'], ['--port', '65536'], ['--port', '-1'], ['--port=1.5']])('on the port of %s %s', (...argv) => {
    expect(words(argv)).toContain('The port must be a number')
  })
  it('with a flag that nobody knows, or without the value of one', () => {
    expect(words(['--bogus'])).toContain('Unknown option: --bogus')
    expect(words(['stray'])).toContain('Unknown option: stray')
    expect(words(['--home'])).toContain('--home needs a value')
    expect(words(['--port', '--demo'])).toContain('--port needs a value')
    expect(words(['--open=yes'])).toContain('Unknown option')
  })
  it.each(['chat.example', '*', 'https://'])('with the allowed origin %s, which is none', (origin) => {
    expect(words([], { HERMES_WEBUI_ALLOWED_ORIGINS: `https://good.example,${origin}` })).toContain(`${origin} is no origin`)
  })
  it('when only help or the version is asked for', () => {
    expect(words(['--help', '--port', '0'])).toBe('help')
    expect(words(['-h'])).toBe('help')
    expect(words(['--version'])).toBe('version')
  })
})
