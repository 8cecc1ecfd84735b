import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeAllowed } from '../../server/agents/embedded/allowed'
import { calls, delta, event, type FakeModel, type Piece, says, startFakeModel, stream } from '../support/fake-model'
import { embeddedHome, type Home } from './embedded-rig'
import { Chat } from './embedded-turn'

describe('talking to a turn of the embedded agent', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome(fake.base)
    chat = new Chat(home)
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })
  interface Sent { role: string; content: string; tool_call_id?: string }
  const sent = (n: number): Sent[] => fake.asked()[n]!.messages as Sent[]
  const steer = async (id: string, text: string) => (await chat.session).steer!(id, text)

  describe('a word while it works', () => {
    it('stands before the next call, counts as delivered when the model answers that, and stays in its history', async () => {
      fake.next(stream(...calls({ id: 'c', name: 'shell', args: { command: 'echo one' } })), stream(...says('I heard ', 'you.')), stream(...says('Still.')))
      chat.onQuestion = () => null
      const end = chat.say('Do it')
      await chat.until(() => chat.of('question.raised').length === 1)
      expect(await steer('st1', 'And be quick')).toEqual({ state: 'delivered' })
      expect(chat.of('steer.delivered')).toEqual([])
      await (await chat.session).decide(chat.of('question.raised')[0]!.question, 'once')
      expect(await end).toMatchObject({ outcome: 'completed' })
      expect(chat.of('steer.delivered')).toEqual([{ type: 'steer.delivered', steer: 'st1', evidence: 'seen' }])
      expect(sent(1).slice(-2)).toMatchObject([{ role: 'tool' }, { role: 'user', content: 'And be quick' }])
      expect(chat.context.map(({ message }) => (message as { role: string }).role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant'])
      await chat.say('And?')
      expect(sent(2).filter((m) => m.role === 'user').map((m) => m.content)).toEqual(['Do it', 'And be quick', 'And?'])
    })

    it('goes with the tool call that answers it, and never twice', async () => {
      fake.next(stream(...calls({ id: 'a', name: 'shell', args: { command: 'echo one' } })), stream(...calls({ id: 'b', name: 'shell', args: { command: 'echo two' } })), stream(...says('Done.')))
      chat.onQuestion = () => null
      const end = chat.say('Do it')
      for (const n of [1, 2]) {
        await chat.until(() => chat.of('question.raised').length === n)
        if (n === 1) await steer('st1', 'Then two')
        await (await chat.session).decide(chat.of('question.raised')[n - 1]!.question, 'once')
      }
      await end
      expect(chat.of('steer.delivered')).toHaveLength(1)
      expect(JSON.stringify(sent(2)).match(/Then two/g)).toHaveLength(1)
      expect(chat.context.filter(({ message }) => (message as { text?: string }).text === 'Then two')).toHaveLength(1)
    })

    it('that comes while the last answer is made is not delivered, and is in no history', async () => {
      let release = (): void => undefined
      const gate = new Promise<void>((resolve) => (release = resolve))
      fake.next({ pieces: [event(delta({ content: 'The answer' })), () => gate, event(delta({}, 'stop')), 'data: [DONE]\n\n'] as Piece[] })
      const end = chat.say('Ask')
      await chat.until(() => chat.text !== '')
      expect(await steer('st1', 'too late')).toEqual({ state: 'delivered' })
      release()
      expect(await end).toMatchObject({ outcome: 'completed' })
      expect(chat.of('steer.delivered')).toEqual([])
      expect(JSON.stringify(chat.context)).not.toContain('too late')
      expect(fake.asked()).toHaveLength(1)
    })

    it('that no model took, because the call failed, is not delivered', async () => {
      fake.next(stream(...calls({ id: 'c', name: 'shell', args: { command: 'echo one' } })), { status: 500, headers: { 'content-type': 'text/plain' }, pieces: ['no'] })
      chat.onQuestion = () => null
      const end = chat.say('Do it')
      await chat.until(() => chat.of('question.raised').length === 1)
      await steer('st1', 'unheard')
      await (await chat.session).decide(chat.of('question.raised')[0]!.question, 'once')
      expect(await end).toMatchObject({ outcome: 'failed' })
      expect(chat.of('steer.delivered')).toEqual([])
      expect(JSON.stringify(chat.context)).not.toContain('unheard')
    })

    it('is refused when nothing runs, or what runs is being stopped', async () => {
      expect(await steer('st1', 'x')).toMatchObject({ state: 'refused', code: 'not_running' })
      fake.next({ pieces: ['HANG'] })
      const end = chat.say('Wait')
      await chat.until(() => fake.asked().length === 1)
      await (await chat.session).stop('person')
      expect(await steer('st2', 'x')).toMatchObject({ state: 'refused', code: 'not_running' })
      await end
    })
  })

  describe('a question of the model', () => {
    const asking = (args: Record<string, unknown>) => fake.next(stream(...calls({ id: 'q', name: 'ask_person', args })), stream(...says('Thanks.')))
    const asked = () => chat.until(() => chat.of('clarify.raised').length === 1)

    it('waits for the person, who answers in their own words; it has no step beside its own row', async () => {
      asking({ question: 'Which one?', choices: ['red', ' red ', 'blue'] })
      const end = chat.say('Paint it')
      await asked()
      const [raised] = chat.of('clarify.raised')
      expect(raised!.request).toMatchObject({ question: 'Which one?', choices: ['red', 'blue'], free: true, deadline: expect.any(Number) })
      expect(Math.abs(raised!.request.deadline! - Date.now() - 3_600_000)).toBeLessThan(60_000)
      expect(await (await chat.session).decide(raised!.question, 'once')).toMatchObject({ state: 'refused', code: 'question_gone' })
      expect(await (await chat.session).answer!(raised!.question, 'the green one')).toEqual({ state: 'delivered' })
      expect(await (await chat.session).answer!(raised!.question, 'again')).toMatchObject({ state: 'refused', code: 'question_gone' })
      expect(await end).toMatchObject({ outcome: 'completed' })
      expect(sent(1).at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'q', content: 'The person answers: the green one' })
      expect(chat.of('tool.started')).toEqual([])
    })

    it('that nobody answers in time tells the model to use its judgement, and is taken back', async () => {
      const hasty = await embeddedHome(fake.base, { clarify: 60 })
      const other = new Chat(hasty)
      asking({ question: 'Which one?' })
      expect(await other.say('Paint it')).toMatchObject({ outcome: 'completed' })
      expect(other.of('question.withdrawn')).toMatchObject([{ question: other.of('clarify.raised')[0]!.question, why: 'expired' }])
      expect(sent(1).at(-1)!.content).toMatch(/Use your judgement/)
      await hasty.end()
      rmSync(hasty.folder, { recursive: true, force: true })
    })

    it('ends with the turn that is stopped, and the history stays whole', async () => {
      asking({ question: 'Which one?' })
      const end = chat.say('Paint it')
      await asked()
      await (await chat.session).stop('person')
      expect(await end).toMatchObject({ outcome: 'cancelled' })
      expect(await (await chat.session).answer!(chat.of('clarify.raised')[0]!.question, 'late')).toMatchObject({ state: 'refused' })
      fake.next(stream(...says('Fine.')))
      await chat.say('Go on')
      expect(sent(1).map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
    })

    it('that is none is refused to the model without a question', async () => {
      for (const args of [{}, { question: ' ' }, { question: 'x', choices: 'red' }, { question: 'x', choices: Array.from({ length: 9 }, (_, i) => `${i}`) }]) {
        asking(args)
        await chat.say('Paint it')
      }
      expect(chat.of('clarify.raised')).toEqual([])
      expect(chat.of('tool.closed').map((e) => e.state)).toEqual(['failed', 'failed', 'failed', 'failed'])
    })
  })

  describe('what is allowed beyond once', () => {
    const file = () => join(home.folder, 'state', 'allowed.json')
    const use = async (on: Chat, name: string, args: Record<string, unknown>) => {
      fake.next(stream(...calls({ name, args })), stream(...says('Done.')))
      const before = on.of('question.raised').length
      await on.say(`use ${name}`)
      return { asked: on.of('question.raised')[before]?.request, closed: on.of('tool.closed').at(-1)! }
    }
    const kinds = (request: { choices: { kind: string }[] } | undefined) => request?.choices.map((choice) => choice.kind)

    it('for a chat: exactly that command in that folder, not in another chat', async () => {
      chat.onQuestion = () => 'session'
      const first = await use(chat, 'shell', { command: 'echo hi' })
      expect(kinds(first.asked)).toEqual(['once', 'session', 'always', 'deny'])
      expect(first.asked!.choices.map((choice) => choice.consequence)).toEqual([
        undefined, 'This exact command in this folder will run without asking, in this chat.',
        'This exact command in this folder will run without asking, in every chat of this profile.', undefined,
      ])
      chat.onQuestion = () => 'deny'
      expect((await use(chat, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'done', output: 'hi\n' })
      expect((await use(chat, 'shell', { command: 'echo hi ' })).closed).toMatchObject({ state: 'denied' })
      const other = new Chat(home, home.workspace, 'ses_other')
      other.onQuestion = () => 'deny'
      expect((await use(other, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'denied' })
    })

    it('for always: in every chat of the profile in that folder, after a restart, until the file is taken away', async () => {
      chat.onQuestion = () => 'always'
      await use(chat, 'shell', { command: 'echo hi' })
      expect(statSync(file()).mode & 0o777).toBe(0o600)
      await home.agent.end()
      const again = await embeddedHome(fake.base, { allowed: makeAllowed(file()) })
      const other = new Chat(again, home.workspace, 'ses_other')
      other.onQuestion = () => 'deny'
      expect((await use(other, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'done' })
      const elsewhere = new Chat(again, again.workspace, 'ses_other')
      elsewhere.onQuestion = () => 'deny'
      expect((await use(elsewhere, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'denied' })
      rmSync(file())
      expect((await use(other, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'denied' })
      await again.end()
      rmSync(again.folder, { recursive: true, force: true })
    })

    it('of changes: all inside the folder, for the chat only, and never commands', async () => {
      chat.onQuestion = () => 'session'
      const first = await use(chat, 'write', { path: 'a.txt', content: 'one\n' })
      expect(kinds(first.asked)).toEqual(['once', 'session', 'deny'])
      expect(first.asked!.choices[1]!.consequence).toMatch(/inside this folder .* in this chat/)
      chat.onQuestion = () => 'deny'
      expect((await use(chat, 'patch', { path: 'a.txt', old: 'one', new: 'two' })).closed).toMatchObject({ state: 'done' })
      expect(readFileSync(join(home.workspace, 'a.txt'), 'utf8')).toBe('two\n')
      expect((await use(chat, 'write', { path: '../b.txt', content: 'x' })).closed).toMatchObject({ state: 'failed' })
      expect((await use(chat, 'shell', { command: 'echo hi' })).closed).toMatchObject({ state: 'denied' })
      const other = new Chat(home, home.workspace, 'ses_other')
      other.onQuestion = () => 'deny'
      expect((await use(other, 'write', { path: 'c.txt', content: 'x' })).closed).toMatchObject({ state: 'denied' })
    })

    it('is listed and removed one by one; what is in the file and not understood allows nothing and is not written over', async () => {
      chat.onQuestion = () => 'always'
      await use(chat, 'shell', { command: 'echo one' })
      await use(chat, 'shell', { command: 'echo two' })
      const allowed = makeAllowed(file())
      const list = await allowed.list()
      expect(list.map((each) => each.tool === 'shell' && each.command)).toEqual(['echo one', 'echo two'])
      await allowed.remove(list[0]!)
      chat.onQuestion = () => 'deny'
      expect((await use(chat, 'shell', { command: 'echo one' })).closed).toMatchObject({ state: 'denied' })
      expect((await use(chat, 'shell', { command: 'echo two' })).closed).toMatchObject({ state: 'done' })
      writeFileSync(file(), '{"version":2}')
      chat.onQuestion = () => 'always'
      expect((await use(chat, 'shell', { command: 'echo two' })).asked).toBeDefined()
      expect(chat.of('notice').at(-1)).toMatchObject({ code: 'allowance_not_kept' })
      expect(chat.of('tool.closed').at(-1)).toMatchObject({ state: 'done' })
      expect(readFileSync(file(), 'utf8')).toBe('{"version":2}')
    })

    it('only what a question offers is taken', async () => {
      chat.onQuestion = () => null
      fake.next(stream(...calls({ name: 'write', args: { path: 'a.txt', content: 'x' } })), stream(...says('Done.')))
      const end = chat.say('Write')
      await chat.until(() => chat.of('question.raised').length === 1)
      const { question } = chat.of('question.raised')[0]!
      expect(await (await chat.session).decide(question, 'always')).toMatchObject({ state: 'refused', code: 'unsupported' })
      expect(await (await chat.session).decide(question, 'yes')).toMatchObject({ state: 'refused', code: 'unsupported' })
      await (await chat.session).decide(question, 'deny')
      await end
      expect(existsSync(join(home.workspace, 'a.txt'))).toBe(false)
    })
  })
})
