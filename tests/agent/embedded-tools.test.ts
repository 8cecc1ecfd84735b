import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { calls, type FakeModel, says, startFakeModel, stream } from '../support/fake-model'
import { embeddedHome, groupAlive, type Home, SECRET } from './embedded-rig'
import { Chat } from './embedded-turn'

describe('the workspace tools of the embedded agent', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat
  let outside: string

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome(fake.base)
    chat = new Chat(home)
    outside = join(home.folder, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret.txt'), 'do not read me\n')
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })

  /** One call of a tool, and its end. */
  const use = async (name: string, args: Record<string, unknown>) => {
    fake.next(stream(...calls({ name, args })), stream(...says('Done.')))
    const before = chat.of('tool.closed').length
    await chat.say(`use ${name}`)
    return chat.of('tool.closed')[before]!
  }
  const at = (...parts: string[]): string => join(home.workspace, ...parts)

  describe('are confined to the folder', () => {
    it.each([
      ['a path that climbs out', '../outside/secret.txt'],
      ['a path that climbs out from inside', 'a/../../outside/secret.txt'],
      ['an absolute path elsewhere', '/etc/passwd'],
      ['a folder beside with the same beginning', '../workspace-2/x'],
    ])('%s is refused by every file tool', async (_, path) => {
      mkdirSync(join(home.folder, 'workspace-2'))
      writeFileSync(join(home.folder, 'workspace-2', 'x'), 'x')
      for (const [name, args] of [['read', { path }], ['list', { path }], ['search', { text: 'x', path }], ['write', { path, content: 'mine' }], ['patch', { path, old: 'x', new: 'y' }]] as const) {
        const closed = await use(name, args)
        expect(closed, name).toMatchObject({ state: 'failed', result: expect.stringMatching(/outside the workspace/) })
      }
      expect(chat.of('question.raised')).toEqual([])
      expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('do not read me\n')
    })

    it('links to files and folders outside are not followed', async () => {
      symlinkSync(join(outside, 'secret.txt'), at('file-link'))
      symlinkSync(outside, at('folder-link'))
      symlinkSync(join(outside, 'new.txt'), at('loose-link'))
      for (const path of ['file-link', 'folder-link/secret.txt']) {
        expect((await use('read', { path })).state, path).toBe('failed')
        expect((await use('patch', { path, old: 'do', new: 'DO' })).state, path).toBe('failed')
        expect((await use('write', { path, content: 'mine' })).state, path).toBe('failed')
      }
      expect((await use('list', { path: 'folder-link' })).state).toBe('failed')
      expect((await use('write', { path: 'folder-link/new.txt', content: 'mine' })).state).toBe('failed')
      expect((await use('write', { path: 'loose-link', content: 'mine' })).state).toBe('failed')
      expect((await use('list', { path: '.' })).result).toMatch(/folder-link -> /)
      expect((await use('search', { text: 'do not read' })).result).toBe('Nothing found.')
      expect(existsSync(join(outside, 'new.txt'))).toBe(false)
      expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('do not read me\n')
    })

    it('links that stay inside are followed', async () => {
      mkdirSync(at('real'))
      writeFileSync(at('real', 'a.txt'), 'alpha\n')
      symlinkSync('real', at('alias'))
      expect((await use('read', { path: 'alias/a.txt' })).result).toBe('1\talpha\n')
      expect((await use('write', { path: 'alias/a.txt', content: 'beta\n' })).state).toBe('done')
      expect(readFileSync(at('real', 'a.txt'), 'utf8')).toBe('beta\n')
      expect(lstatSync(at('alias')).isSymbolicLink()).toBe(true)
    })

    it('a folder that becomes a link while the person is asked leads nowhere', async () => {
      mkdirSync(at('sub'))
      writeFileSync(at('sub', 'secret.txt'), 'mine\n')
      chat.onQuestion = () => {
        renameSync(at('sub'), at('moved'))
        symlinkSync(outside, at('sub'))
        return 'once'
      }
      expect((await use('write', { path: 'sub/secret.txt', content: 'overwritten\n' })).state).toBe('failed')
      expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('do not read me\n')
      expect(readFileSync(at('moved', 'secret.txt'), 'utf8')).toBe('mine\n')
    })

    it('a link that is put in place of a folder again and again never lets anything out', async () => {
      mkdirSync(at('flip'))
      writeFileSync(at('flip', 'secret.txt'), 'harmless\n')
      let going = true
      const flipping = (async () => {
        while (going) {
          renameSync(at('flip'), at('kept'))
          // A write that is under way may make the folder anew just now, which is its right; the link then takes its place all the same.
          for (;;) {
            try {
              symlinkSync(outside, at('flip'))
              break
            } catch (error) {
              if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
              rmSync(at('flip'), { recursive: true, force: true })
            }
          }
          await new Promise((resolve) => setImmediate(resolve))
          unlinkSync(at('flip'))
          renameSync(at('kept'), at('flip'))
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      fake.answer = () => stream(...calls(...Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? { id: `r${i}`, name: 'read', args: { path: 'flip/secret.txt' } } : { id: `w${i}`, name: 'write', args: { path: 'flip/secret.txt', content: `harmless\n${i}\n` } }))))
      const limited = await embeddedHome(fake.base, { steps: 6 })
      const other = new Chat(limited, home.workspace)
      expect(await other.say('race')).toMatchObject({ outcome: 'failed', problem: { code: 'tool_limit_reached' } })
      going = false
      await flipping
      for (const closed of other.of('tool.closed')) expect(closed.result).not.toContain('do not read me')
      expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('do not read me\n')
      await limited.end()
      rmSync(limited.folder, { recursive: true, force: true })
    })
  })

  it('where keys are kept is closed to file tools, also in a workspace that holds it', async () => {
    const state = join(home.folder, 'state', 'talaria')
    mkdirSync(state, { recursive: true })
    mkdirSync(join(home.folder, 'home', 'profiles', 'other'), { recursive: true })
    writeFileSync(join(state, 'connections.json'), `{"key":"${SECRET}"}`)
    writeFileSync(join(home.folder, 'home', 'profiles', 'other', '.env'), `K=${SECRET}`)
    writeFileSync(join(home.folder, 'home', 'SOUL.md'), 'soul\n')
    symlinkSync(join(home.folder, 'home', '.env'), join(home.folder, 'innocent'))
    const wide = await embeddedHome(fake.base, { closed: [state] })
    const agentHome = { ...wide, profile: home.profile }
    const other = new Chat(agentHome, home.folder)
    const paths = ['state/talaria/connections.json', 'home/.env', 'home/config.yaml', 'home/profiles/other/.env', 'innocent']
    fake.next(stream(...calls(...paths.map((path, i) => ({ id: `r${i}`, name: 'read', args: { path } })), ...paths.map((path, i) => ({ id: `w${i}`, name: 'write', args: { path, content: 'x' } })), { id: 'n', name: 'write', args: { path: 'state/talaria/new', content: 'x' } }, { id: 's', name: 'search', args: { text: SECRET.slice(0, 12) } }, { id: 'l', name: 'list', args: { path: 'state/talaria' } }, { id: 'ok', name: 'read', args: { path: 'home/SOUL.md' } })), stream(...says('Done.')))
    expect(await other.say('look')).toMatchObject({ outcome: 'completed' })
    const ends = Object.fromEntries(other.of('tool.closed').map((e) => [e.call, e.result]))
    for (const [call, result] of Object.entries(ends)) if (/^[rwnl]\d*$/.test(call)) expect(result, call).toMatch(/closed to file tools/)
    expect(ends.s).toBe('Nothing found.')
    expect(ends.ok).toBe('1\tsoul\n')
    expect(other.of('question.raised')).toEqual([])
    expect(JSON.stringify(other.events)).not.toContain(SECRET)
    await wide.end()
    rmSync(wide.folder, { recursive: true, force: true })
  })

  it('reading numbers lines, in parts, and tells binary files and folders', async () => {
    writeFileSync(at('long.txt'), Array.from({ length: 3000 }, (_, i) => `line ${i + 1}\n`).join(''))
    writeFileSync(at('bin'), Buffer.from([1, 2, 0, 3]))
    writeFileSync(at('latin'), Buffer.from([0xe9, 0x20, 0xff]))
    mkdirSync(at('folder'))
    expect((await use('read', { path: 'long.txt', offset: 2999 })).result).toBe('2999\tline 2999\n3000\tline 3000\n')
    expect(await use('read', { path: 'long.txt' })).toMatchObject({ cut: true })
    expect((await use('read', { path: 'bin' })).result).toMatch(/binary/)
    expect((await use('read', { path: 'latin' })).result).toMatch(/binary/)
    expect((await use('read', { path: 'folder' })).result).toMatch(/folder/)
    expect((await use('read', { path: '.' })).state).toBe('failed')
    expect(chat.of('question.raised')).toEqual([])
  })

  it('a named pipe is not waited for', async () => {
    expect((await use('shell', { command: 'mkfifo pipe' })).state).toBe('done')
    expect(await use('read', { path: 'pipe' })).toMatchObject({ state: 'failed', result: expect.stringMatching(/regular file/) })
  })

  it('listing and searching leave out what is too much', async () => {
    mkdirSync(at('src', 'deep'), { recursive: true })
    mkdirSync(at('node_modules'))
    writeFileSync(at('src', 'deep', 'x.ts'), 'const Needle = 1\n')
    writeFileSync(at('node_modules', 'y.ts'), 'needle\n')
    expect((await use('list', {})).result).toBe('node_modules/\nsrc/')
    expect((await use('list', { depth: 3 })).result).toBe('node_modules/\nsrc/\nsrc/deep/\nsrc/deep/x.ts')
    expect((await use('search', { text: 'needle' })).result).toBe('src/deep/x.ts:1: const Needle = 1')
    expect((await use('search', { text: 'NEEDLE' })).result).toBe('Nothing found.')
    expect((await use('search', { text: '', files: '*.ts' })).result).toBe('src/deep/x.ts')
    expect((await use('search', { text: 'needle', files: '*.md' })).result).toBe('Nothing found.')
  })

  it('writing asks with the difference, makes folders, and keeps the mode', async () => {
    expect(await use('write', { path: 'new/dir/a.txt', content: 'one\ntwo\n' })).toMatchObject({ state: 'done' })
    const [asked] = chat.of('question.raised')
    expect(asked!.request).toMatchObject({ action: 'Create new/dir/a.txt (2 lines)', tool: 'write' })
    expect(asked!.request.diff).toBe('--- /dev/null\n+++ b/new/dir/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n')
    chmodSync(at('new', 'dir', 'a.txt'), 0o755)
    expect(await use('write', { path: 'new/dir/a.txt', content: 'one\nthree\n' })).toMatchObject({ state: 'done' })
    expect(chat.of('question.raised')[1]!.request.diff).toBe('--- a/new/dir/a.txt\n+++ b/new/dir/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n')
    expect(readFileSync(at('new', 'dir', 'a.txt'), 'utf8')).toBe('one\nthree\n')
    expect(statSync(at('new', 'dir', 'a.txt')).mode & 0o777).toBe(0o755)
  })

  it('a refused write writes nothing and tells the model so', async () => {
    chat.onQuestion = () => 'deny'
    expect(await use('write', { path: 'a.txt', content: 'x' })).toMatchObject({ state: 'denied' })
    expect(existsSync(at('a.txt'))).toBe(false)
    const told = fake.asked()[1]!.messages as { role: string; content: string }[]
    expect(told[told.length - 1]).toMatchObject({ role: 'tool', content: expect.stringMatching(/refused/) })
  })

  it('a patch needs its text exactly once, and what changed meanwhile is not written over', async () => {
    writeFileSync(at('a.txt'), 'x = 1\ny = 1\n')
    expect((await use('patch', { path: 'a.txt', old: '= 1', new: '= 2' })).result).toMatch(/2 times/)
    expect((await use('patch', { path: 'a.txt', old: 'z', new: 'w' })).result).toMatch(/does not stand/)
    expect((await use('patch', { path: 'a.txt', old: '= 1', new: '= 2', all: true })).state).toBe('done')
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('x = 2\ny = 2\n')
    chat.onQuestion = () => {
      writeFileSync(at('a.txt'), 'somebody else\n')
      return 'once'
    }
    expect((await use('patch', { path: 'a.txt', old: 'x = 2', new: 'x = 3' })).result).toMatch(/changed since/)
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('somebody else\n')
  })

  it('arguments of a wrong kind are refused without a question', async () => {
    expect((await use('write', { path: 7, content: 'x' })).state).toBe('failed')
    expect((await use('shell', { command: '' })).state).toBe('failed')
    expect((await use('read', { path: 'a\0b' })).state).toBe('failed')
    expect(chat.of('question.raised')).toEqual([])
  })

  it('a command starts in the folder, and its exit code and output are told', async () => {
    expect(await use('shell', { command: 'pwd; echo err >&2; exit 3' })).toMatchObject({ state: 'failed', exit: 3, output: expect.stringContaining(home.workspace) })
    const [asked] = chat.of('question.raised')
    expect(asked!.request).toMatchObject({ command: 'pwd; echo err >&2; exit 3', cwd: home.workspace, risk: 'high', reason: expect.stringMatching(/whatever this account can/) })
    expect(chat.of('tool.closed')[0]!.result).toMatch(/^Exit code 3\.\n[\s\S]*err/)
  })

  it('a command gets no input and sees no key, ours or the profile’s', async () => {
    const leaky = await embeddedHome(fake.base, { env: { ...process.env, OPENAI_API_KEY: SECRET, FAKE_KEY: SECRET, HERMES_HOME: '/x', AWS_SECRET_ACCESS_KEY: SECRET, LD_PRELOAD: '', NODE_OPTIONS: '--no-warnings' } })
    const other = new Chat(leaky)
    fake.next(stream(...calls({ name: 'shell', args: { command: 'cat; env' } })), stream(...says('Done.')))
    expect(await other.say('env')).toMatchObject({ outcome: 'completed' })
    const { output } = other.of('tool.closed')[0]!
    expect(output).toContain('PATH=')
    expect(output).not.toContain(SECRET)
    expect(output).not.toMatch(/^(?:\w*(?:KEY|TOKEN|SECRET)\w*|HERMES_\w+|NODE_OPTIONS|LD_PRELOAD)=/m)
    await leaky.end()
    rmSync(leaky.folder, { recursive: true, force: true })
  })

  it('a command whose record cannot be taken away has run all the same, and its end is told', async () => {
    const full = await embeddedHome(fake.base, { processes: { note: async () => undefined, forget: () => Promise.reject(new Error('disk full')) } })
    const other = new Chat(full)
    fake.next(stream(...calls({ name: 'shell', args: { command: 'echo ran' } })), stream(...says('Done.')))
    expect(await other.say('run')).toMatchObject({ outcome: 'completed' })
    expect(other.of('tool.closed')).toMatchObject([{ state: 'done', exit: 0, output: 'ran\n' }])
    await full.end()
    rmSync(full.folder, { recursive: true, force: true })
  })

  it('a group is recorded before its command runs, and forgotten after', async () => {
    const marks: string[] = []
    const watched = await embeddedHome(fake.base, {
      processes: {
        note: async (process) => {
          // Long enough for a command that does not wait to be seen.
          await new Promise((resolve) => setTimeout(resolve, 150))
          marks.push(`noted ${process.session} ${process.run} ${existsSync(join(watched.workspace, 'ran'))} ${/^\d+$/.test(process.startTime)} ${groupAlive(process.pid)}`)
        },
        forget: async () => void marks.push(`forgotten ${existsSync(join(watched.workspace, 'ran'))}`),
      },
    })
    const other = new Chat(watched)
    fake.next(stream(...calls({ name: 'shell', args: { command: 'touch ran' } })), stream(...says('Done.')))
    await other.say('run')
    expect(marks).toEqual(['noted ses_test run_1 false true true', 'forgotten true'])
    await watched.end()
    rmSync(watched.folder, { recursive: true, force: true })
  })

  it('a command whose group cannot be recorded never runs', async () => {
    const broken = await embeddedHome(fake.base, { processes: { note: () => Promise.reject(new Error('disk full')), forget: async () => undefined } })
    const other = new Chat(broken)
    fake.next(stream(...calls({ name: 'shell', args: { command: 'touch ran' } })), stream(...says('Done.')))
    await other.say('run')
    expect(other.of('tool.closed')[0]).toMatchObject({ state: 'failed', result: expect.stringMatching(/disk full/) })
    expect(existsSync(join(broken.workspace, 'ran'))).toBe(false)
    await broken.end()
    rmSync(broken.folder, { recursive: true, force: true })
  })

  it('output is shown while the command runs', async () => {
    fake.next(stream(...calls({ name: 'shell', args: { command: 'echo first; while [ ! -e go ]; do sleep 0.02; done; echo last' } })), stream(...says('Done.')))
    const end = chat.say('run')
    await chat.until(() => chat.of('tool.changed').some((e) => e.change.output?.includes('first')))
    expect(chat.of('tool.closed')).toEqual([])
    writeFileSync(at('go'), '')
    await end
    expect(chat.of('tool.closed')[0]!.output).toBe('first\nlast\n')
  })

  it('very long output is bounded, with its beginning and its end', async () => {
    const closed = await use('shell', { command: 'echo BEGIN; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo END' })
    expect(closed).toMatchObject({ state: 'done', cut: true })
    expect(closed.output!.length).toBeLessThanOrEqual(16_384)
    expect(closed.output!.endsWith('END\n')).toBe(true)
    const told = (fake.asked()[1]!.messages as { content: string }[]).at(-1)!.content
    expect(told.length).toBeLessThan(40_000)
    expect(told).toMatch(/BEGIN[\s\S]*left out[\s\S]*END/)
  })

  it('stopping ends the whole group, also what ignores SIGTERM, and the context stays whole', async () => {
    fake.next(stream(...calls({ id: 'one', name: 'shell', args: { command: 'trap "" TERM; (trap "" TERM; while :; do sleep 0.1; done) & echo started; while :; do sleep 0.1; done' } }, { id: 'two', name: 'read', args: { path: 'a.txt' } })))
    const end = chat.say('run')
    await chat.until(() => chat.of('tool.changed').some((e) => e.change.output?.includes('started')))
    const { pid } = home.noted[0]!
    expect(groupAlive(pid)).toBe(true)
    await (await chat.session).stop('person')
    expect(await end).toMatchObject({ outcome: 'cancelled' })
    expect(groupAlive(pid)).toBe(false)
    expect(home.open.size).toBe(0)
    expect(chat.of('tool.closed').map((e) => [e.call, e.state])).toEqual([['one', 'cancelled']])
    fake.next(stream(...says('Fine.')))
    expect(await chat.say('go on')).toMatchObject({ outcome: 'completed' })
    expectPaired(fake.asked().at(-1)!)
  })

  it('what a command leaves running in its group is ended with it', async () => {
    const closed = await use('shell', { command: 'sleep 60 & echo left $!' })
    expect(closed).toMatchObject({ state: 'done', output: expect.stringMatching(/left \d+/) })
    expect(groupAlive(home.noted[0]!.pid)).toBe(false)
  })

  it('a command that takes too long is ended', async () => {
    const closed = await use('shell', { command: 'sleep 60', timeout: 1 })
    expect(closed).toMatchObject({ state: 'failed', result: expect.stringMatching(/Ended after 1 s/) })
    expect(groupAlive(home.noted[0]!.pid)).toBe(false)
  })

  it('a stored context that a crash left without results is completed for the provider (R233)', async () => {
    chat.context.push(
      { turn: 'old', message: { role: 'user', text: 'before' } },
      { turn: 'old', message: { role: 'assistant', text: '', calls: [{ id: 'lost', name: 'shell', args: '{"command":"x"}' }, { id: 'told', name: 'read', args: '{"path":"x"}' }] } },
      { turn: 'old', message: { role: 'tool', call: 'told', name: 'read', result: 'found' } },
      { turn: 'old', message: { role: 'tool', call: 'orphan', name: 'read', result: 'nobody asked' } },
      { turn: 'old', message: { strange: true } },
    )
    fake.next(stream(...says('Fine.')))
    await chat.say('after')
    const sent = fake.asked()[0]!
    expectPaired(sent)
    expect(JSON.stringify(sent)).toContain('not known whether it ran')
    expect(JSON.stringify(sent)).not.toContain('orphan')
  })

  it('a chat whose folder is gone fails in words', async () => {
    rmSync(home.workspace, { recursive: true })
    expect(await chat.say('hi')).toMatchObject({ outcome: 'failed', problem: { words: expect.stringMatching(/workspace folder is not there/) } })
  })
})

/** Every call has one result right behind it, and nothing else is a result. */
function expectPaired(body: Record<string, unknown>): void {
  const messages = body.messages as { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[]
  const expected: string[] = []
  for (const m of messages) {
    if (m.role === 'tool') expect(m.tool_call_id).toBe(expected.shift())
    else expect(expected).toEqual([])
    if (m.tool_calls) {
      expect(m.tool_calls.length).toBeGreaterThan(0)
      expected.push(...m.tool_calls.map((call) => call.id))
    }
  }
  expect(expected).toEqual([])
}
