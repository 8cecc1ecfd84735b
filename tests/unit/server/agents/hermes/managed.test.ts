import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { timeoutOf, writeLayer } from '../../../../../server/agents/hermes/managed'

describe('the managed layer', () => {
  let folder: string
  let theirs: string
  let ours: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'talaria-layer-'))
    theirs = join(folder, 'theirs')
    ours = join(folder, 'ours')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const admin = (text: string, more: Record<string, string> = {}): void => {
    mkdirSync(theirs, { recursive: true })
    for (const [name, content] of Object.entries({ 'config.yaml': text, ...more })) writeFileSync(join(theirs, name), content)
  }
  const written = (): string => readFileSync(join(ours, 'config.yaml'), 'utf8')

  it('is two settings where there is none', async () => {
    expect(await writeLayer(ours, theirs)).toBe(ours)
    expect(written()).toBe('approvals:\n  timeout: 3600\ndisplay:\n  busy_input_mode: queue\n')
    expect(readdirSync(ours)).toEqual(['config.yaml'])
    expect([statSync(ours).mode & 0o777, statSync(join(ours, 'config.yaml')).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it('is an administrator\'s, whole, with ours where theirs says nothing', async () => {
    admin('# our policy\napprovals:\n  mode: "off"   # really\nmodel:\n  default: theirs\ndisplay:\nsecurity: {a: [1, 2]}\n', { '.env': 'POLICY=1\n' })
    expect(await writeLayer(ours, theirs)).toBe(ours)
    expect(written()).toContain('# our policy')
    expect(parse(written(), { version: '1.1' })).toEqual({ approvals: { mode: 'off', timeout: 3600 }, model: { default: 'theirs' }, display: { busy_input_mode: 'queue' }, security: { a: [1, 2] } })
    expect(written()).not.toContain('!!')
    expect(readFileSync(join(ours, '.env'), 'utf8')).toBe('POLICY=1\n')
    // What they have taken away since is away here.
    rmSync(join(theirs, '.env'))
    await writeLayer(ours, theirs)
    expect(existsSync(join(ours, '.env'))).toBe(false)
  })

  it('never overrules an administrator', async () => {
    admin('approvals: {timeout: 5}\ndisplay: {busy_input_mode: steer}\n')
    await writeLayer(ours, theirs)
    expect(parse(written())).toEqual({ approvals: { timeout: 5 }, display: { busy_input_mode: 'steer' } })
    expect(readFileSync(join(theirs, 'config.yaml'), 'utf8')).toBe('approvals: {timeout: 5}\ndisplay: {busy_input_mode: steer}\n')
  })

  it.each([['that does not parse', 'approvals: [\n'], ['that is a list', '- a\n'], ['whose section is a text', 'approvals: yes please\n']])('is not ours beside one %s', async (_, text) => {
    admin(text)
    expect(await writeLayer(ours, theirs)).toBeNull()
    expect(existsSync(join(ours, 'config.yaml'))).toBe(false)
  })

  it('tells how long an approval waits', () => {
    expect([timeoutOf({ approvals: { timeout: 7 } }), timeoutOf({ approvals: { timeout: '7' } }), timeoutOf({ approvals: null }), timeoutOf('x'), timeoutOf(null), timeoutOf({ approvals: { timeout: 0 } })]).toEqual([7, undefined, undefined, undefined, undefined, undefined])
  })
})
