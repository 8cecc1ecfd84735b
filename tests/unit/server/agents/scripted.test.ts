import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeScripted } from '../../../../server/agents/scripted'
import { realEcho } from '../../../../server/agents/scripted/echo'
import { realFolder } from '../../../../server/agents/scripted/folder'
import { parseScript } from '../../../../server/agents/scripted/script'
import type { AgentEvent, TurnEnd } from '../../../../server/agents/port'
import { FakeTimers, settle } from '../../../support/fake-timers'
import { testProfile } from '../../../support/runs-rig'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-scripted-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a script', () => {
  it('is read from the directives of a message, in order', () => {
    expect(parseScript('Please [[say:Hello [you] ]] then [[tool:read {"args":[[1],[2] ],"ms":5}]] [[delay:20]][[error:rate_limit Slow down]]')).toEqual([
      { do: 'say', text: 'Hello [you] ' }, { do: 'tool', name: 'read', tool: { args: [[1], [2]], ms: 5 } }, { do: 'delay', ms: 20 },
      { do: 'error', code: 'rate_limit', words: 'Slow down' },
    ])
    expect(parseScript('No directives [here] at all')).toBeNull()
  })

  it('shows a slip as words instead of hiding it', () => {
    for (const slip of ['[[nonsense:x]]', '[[tool:read {"broken"]]', '[[delay:soon]]', '[[error:no_such_code x]]', '[[deltas:-1]]']) {
      expect(parseScript(slip)).toEqual([{ do: 'say', text: `(not understood: ${slip}) ` }])
    }
  })

  it('cuts text between every UTF-16 unit when it is told to split', () => {
    expect(parseScript('[[split:a\u{1F680}]]')).toEqual([{ do: 'raw', delta: 'a' }, { do: 'raw', delta: '\uD83D' }, { do: 'raw', delta: '\uDE80' }])
  })
})

async function trying(cwd: string, choice: 'once' | 'deny' | 'stop', echo = realEcho, words: string | null = 'Talaria: permission works') {
  const timers = new FakeTimers()
  const events: AgentEvent[] = []
  let end: TurnEnd | undefined
  const agent = makeScripted({ timers, echo })
  const session = await agent.open(
    { profile: testProfile(), session: 's', cwd, model: null, context: async () => [] },
    (event) => {
      events.push(event)
      if (event.type === 'clarify.raised' && words !== null) void session.answer!(event.question, words)
      if (event.type !== 'question.raised') return
      if (choice === 'stop') void session.stop('person')
      else void session.decide(event.question, choice)
    },
  )
  void session.turn({ turn: 't', run: 'r', text: 'What is this?', model: null, retry: false }).then((ended) => (end = ended))
  for (const deadline = performance.now() + 20_000; !end && performance.now() < deadline; ) {
    // What waits for no timer waits for a real folder or process: how many rounds that takes is the machine's affair.
    if (timers.pending === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    else await timers.advance(50)
    await settle()
  }
  const text = events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('')
  const closed = events.flatMap((event) => (event.type === 'tool.closed' ? [event] : []))
  const command = events.flatMap((event) => (event.type === 'question.raised' ? [event.request.command] : []))
  await agent.end()
  return { end, text, closed, events, command }
}

describe('the demo', { timeout: 30_000 }, () => {
  it('really lists, reads and runs, and says that it is scripted', async () => {
    const cwd = join(folder, 'full')
    mkdirSync(join(cwd, 'notes'), { recursive: true })
    writeFileSync(join(cwd, 'README.md'), 'The first line\nand another\n')
    writeFileSync(join(cwd, '.secret'), 'hidden')
    const { end, text, closed, command } = await trying(cwd, 'once')
    expect(end).toEqual({ outcome: 'completed' })
    expect(closed).toMatchObject([{ state: 'done', output: 'README.md\nnotes/' }, { state: 'done', result: 'The first line\nand another\n' }, { state: 'done', exit: 0, output: 'Talaria: permission works\n' }])
    expect(command).toEqual([`echo 'Talaria: permission works'`])
    expect(text).toContain('**scripted agent**')
    expect(text).toContain('*no model is connected*')
    expect(text).toContain('| Looked into the working folder | 1 file, 1 folder |')
    expect(text).toContain('| Read `README.md` | 2 lines |')
    expect(text).toContain('```text\nTalaria: permission works\n```')
  })

  it('plans, asks what to print, says what each choice means, and prints exactly that, whatever it is', async () => {
    const { end, text, closed, command, events } = await trying(folder, 'once', realEcho, `it's "$HOME"\nand\u0007 \`more\``)
    expect(end).toEqual({ outcome: 'completed' })
    expect(command).toEqual([`echo 'it'\\''s "$HOME" and \`more\`'`])
    expect(closed.at(-1)).toMatchObject({ output: 'it\'s "$HOME" and `more`\n' })
    expect(text).toContain('it\'s "$HOME" and `more`')
    expect(events.flatMap((event) => (event.type === 'plan' ? [event.entries.map((entry) => entry.state).join(' ')] : []))).toEqual(['active pending pending', 'done active pending', 'done done active', 'done done done'])
    const [asked] = events.flatMap((event) => (event.type === 'question.raised' ? [event.request] : []))
    expect(asked!.choices.map(({ kind, consequence }) => [kind, consequence !== undefined])).toEqual([['once', false], ['session', true], ['always', true], ['deny', false]])
  })

  it('prints its own words when nobody answers', async () => {
    const { end, command, events } = await trying(folder, 'once', realEcho, null)
    expect(end).toEqual({ outcome: 'completed' })
    expect(events).toContainEqual(expect.objectContaining({ type: 'question.withdrawn', why: 'expired' }))
    expect(command).toEqual([`echo 'Talaria: permission works'`])
  })

  it('runs nothing when it is refused, and says so', async () => {
    let ran = false
    const { end, text, closed } = await trying(folder, 'deny', async () => {
      ran = true
      return { output: '', exit: 0 }
    })
    expect([end?.outcome, ran]).toEqual(['completed', false])
    expect(closed.at(-1)).toMatchObject({ state: 'denied' })
    expect(text).toContain('you refused, so it did not run')
    expect(text).not.toContain('The command printed')
  })

  it('goes on where the folder cannot be read', async () => {
    const { end, text, closed } = await trying(join(folder, 'absent'), 'deny')
    expect(end?.outcome).toBe('completed')
    expect(closed[0]).toMatchObject({ state: 'failed' })
    expect(text).toContain('could not be read')
  })

  it('ends at once when it is stopped, and leaves no tool open', async () => {
    const { end, events, closed } = await trying(folder, 'stop')
    expect(end).toEqual({ outcome: 'cancelled' })
    expect(closed.length).toBe(events.filter((event) => event.type === 'tool.started').length)
    expect(closed.at(-1)).toMatchObject({ state: 'cancelled' })
  })
})

describe('what the demo touches', () => {
  it('is plain files of the folder itself: no links, no other folders, nothing hidden, and only their beginning', async () => {
    const cwd = join(folder, 'links')
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'big.txt'), 'x'.repeat(50_000))
    symlinkSync('/etc/passwd', join(cwd, 'passwd'))
    const files = realFolder()
    expect(await files.list(cwd)).toEqual(['big.txt'])
    expect((await files.read(cwd, 'big.txt')).length).toBe(16_384)
    await expect(files.read(cwd, 'passwd')).rejects.toThrow('not a plain file')
    await expect(files.read(cwd, '../full/README.md')).rejects.toThrow('only files of the folder itself')
  })

  it('is one echo in a group of its own that stop ends', async () => {
    expect(await realEcho('a $HOME `b`', folder, () => () => {})).toEqual({ output: 'a $HOME `b`\n', exit: 0 })
    expect(await realEcho('x', join(folder, 'absent'), () => () => {})).toMatchObject({ exit: null })
  })
})
