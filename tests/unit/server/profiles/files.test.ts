import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseConfig } from '../../../../server/profiles/config-file'
import { parseEnv } from '../../../../server/profiles/env-file'
import { launchProfile } from '../../../../server/profiles/launch'
import { profileNames } from '../../../../server/profiles/names'
import { readProfileFile } from '../../../../server/profiles/read-file'
import { makeSettings } from '../../../../server/profiles/settings'

describe('.env', () => {
  it.each([
    ['A=1', { A: '1' }],
    ['export A=1\n  B = two words  \n', { A: '1', B: 'two words' }],
    ['# A=1\n\nnonsense\n=x\n1A=2\nB=2', { B: '2' }],
    ['A=abc#def', { A: 'abc#def' }],
    ['A=abc # comment', { A: 'abc' }],
    ['A= # comment', { A: '' }],
    ['A="x # y" # comment', { A: 'x # y' }],
    ["A='it\\'s \\n raw ${B}'", { A: "it's \\n raw ${B}" }],
    ['A="line\\nnext \\"q\\""', { A: 'line\nnext "q"' }],
    ['A="two\nlines"\nB=1', { A: 'two\nlines', B: '1' }],
    ['\uFEFFA=1\r\nB=2\r\n', { A: '1', B: '2' }],
    ['A=1\nA=2', { A: '2' }],
    ['A=base\nB=${A}/v1\nC=${MISSING}', { A: 'base', B: 'base/v1', C: '${MISSING}' }],
    ['A=', { A: '' }],
    ['__proto__=x\nconstructor=y', JSON.parse('{"__proto__":"x","constructor":"y"}') as object],
  ])('%j', (text, expected) => {
    expect(Object.entries(parseEnv(text))).toEqual(Object.entries(expected))
  })
})

describe('a file of the profile', () => {
  it.runIf(process.platform !== 'win32')('that is a pipe nobody writes to is none, at once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'talaria-pipe-'))
    try {
      execFileSync('mkfifo', [join(folder, '.env')])
      expect(await readProfileFile(join(folder, '.env'))).toBeNull()
      expect(await readProfileFile(folder)).toBeNull()
      expect(await readProfileFile(join(folder, 'absent'))).toBeNull()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('config.yaml', () => {
  const read = (text: string, env: Record<string, string> = {}) => parseConfig(text, env)

  it('is YAML 1.1', () => {
    expect(read('a: off\nb: yes\nc: "off"\n')).toEqual({ state: 'read', value: { a: false, b: true, c: 'off' } })
  })
  it('takes variables of the profile in texts at any depth, and leaves what is not set', () => {
    expect(read('a: ${K}\nb: ["x-${K}", {c: "${NONE}"}]\n"${K}": 1\n', { K: 'v' })).toEqual({ state: 'read', value: { a: 'v', b: ['x-v', { c: '${NONE}' }], '${K}': 1 } })
  })
  it('never takes a variable of the server', () => {
    // One that every process has, so that the test sets none.
    expect(process.env.PATH).toBeTruthy()
    expect(read('a: ${PATH}\n')).toEqual({ state: 'read', value: { a: '${PATH}' } })
  })
  it('says where it does not parse', () => {
    expect(read('model:\n  default: a\n default: b\n')).toMatchObject({ state: 'unreadable', words: expect.stringMatching(/line/) })
    expect(read('- a\n- b\n')).toMatchObject({ state: 'unreadable' })
  })
  it('is nothing when it is empty or absent', () => {
    expect(read('')).toEqual({ state: 'read', value: {} })
    expect(parseConfig(null, {})).toEqual({ state: 'absent' })
  })
  it('does not grow without bound from aliases', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefg'.split('').map((n, i) => `${n}: &${n} [${Array(10).fill(`*${'abcdef'[i]}`).join(',')}]`).join('\n')}\n`
    expect(read(bomb)).toMatchObject({ state: 'unreadable' })
  })
})

describe('the launch profile', () => {
  let home: string
  beforeEach(() => {
    home = join(realpathSync(mkdtempSync(join(tmpdir(), 'talaria-profile-'))), 'h')
    mkdirSync(join(home, 'profiles', 'work'), { recursive: true })
    writeFileSync(join(home, '.env'), 'K=root\n')
    writeFileSync(join(home, 'profiles', 'work', '.env'), 'K=work\n')
  })
  afterEach(() => rmSync(join(home, '..'), { recursive: true, force: true }))

  it('is the root without a choice', async () => {
    expect(await launchProfile(home)).toEqual({ name: 'default', home, scope: home, env: { K: 'root' }, isLaunch: true })
  })
  it('is the one that active_profile names, also when it ends with a line end', async () => {
    writeFileSync(join(home, 'active_profile'), 'work\n')
    expect(await launchProfile(home)).toMatchObject({ name: 'work', home: join(home, 'profiles', 'work'), env: { K: 'work' } })
  })
  it.each(['gone', '../../etc', '/etc', 'Work', 'default', '', '..'])('is the root when active_profile says %j', async (name) => {
    writeFileSync(join(home, 'active_profile'), name)
    expect(await launchProfile(home)).toMatchObject({ name: 'default', home })
  })
  it('is the profile whose home is given, whatever active_profile says', async () => {
    writeFileSync(join(home, 'active_profile'), 'other\n')
    expect(await launchProfile(join(home, 'profiles', 'work'))).toMatchObject({ name: 'work', env: { K: 'work' } })
  })
  it('is keyed by its real path', async () => {
    symlinkSync(home, join(home, '..', 'alias'))
    expect(await launchProfile(join(home, '..', 'alias'))).toMatchObject({ scope: home })
  })
  it('needs no files at all', async () => {
    expect(await launchProfile(join(home, 'nowhere'))).toMatchObject({ name: 'default', env: {} })
  })
  it('names are the folders with fitting names', async () => {
    for (const name of ['Weird', '.hid', 'default', 'abc']) mkdirSync(join(home, 'profiles', name))
    writeFileSync(join(home, 'profiles', 'file'), '')
    expect(await profileNames(home)).toEqual(['default', 'abc', 'work'])
    expect(await profileNames(join(home, 'profiles', 'work'))).toEqual(['default', 'abc', 'work'])
    expect(await profileNames(join(home, 'nowhere'))).toEqual(['default'])
  })
  it('settings that changed are read anew, others are not parsed again', async () => {
    const profile = await launchProfile(home)
    const readSettings = makeSettings()
    const first = await readSettings(profile)
    expect(await readSettings(profile)).toBe(first)
    writeFileSync(join(home, 'config.yaml'), 'model: ${K}\n')
    expect(await readSettings(profile)).toMatchObject({ config: { value: { model: 'root' } } })
    writeFileSync(join(home, '.env'), 'K=changed\n')
    expect(await readSettings(profile)).toMatchObject({ config: { value: { model: 'changed' } }, auth: null })
    writeFileSync(join(home, '.env'), Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('K=wide\n', 'utf16le')]))
    expect(await readSettings(profile)).toMatchObject({ env: { K: 'wide' } })
  })
})
