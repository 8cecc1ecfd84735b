import { expect, it } from 'vitest'
import type { ChoiceKind } from '../../server/contract/approvals'
import type { Cue, MakeRig, Rig, ToolCue } from './rig'
import { codeOf, settledOf, TurnUnderTest } from './turn'

type Play = (title: string, cues: Cue[], act: (turn: TurnUnderTest) => Promise<void>) => void

/** The part of the conformance suite in which a person and a turn talk: choices, clarifying questions, words in mid-turn, and turns that the agent begins. */
export function conformTalk(rig: () => Rig, makeRig: MakeRig, play: Play): void {
  it('each choice that a question offers does what it says, now and at the next time', async () => {
    const kinds = await offered(rig())
    expect(kinds).toEqual(expect.arrayContaining(['once', 'deny']))
    for (const kind of kinds) {
      const cues = [tools({ tool: 'shell', command: `echo choice-${kind}` }), text('Went on.')]
      const shown = async (turn: TurnUnderTest): Promise<number> => {
        await turn.until(async () => (await turn.open()).length > 0 || (await turn.tools()).some((row) => row.state !== 'live'))
        return (await turn.open()).length
      }
      const turn = (await TurnUnderTest.begin(rig(), cues))!
      const { id, choices } = await turn.asked()
      const choice = choices.find((each) => each.kind === kind)!
      if (kind !== 'once' && kind !== 'deny') expect(choice.consequence).toMatch(/\w{3}/)
      await turn.decide(choice.id, id)
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.tools()).toMatchObject([{ state: kind.startsWith('deny') ? 'denied' : 'done', approval: { state: 'decided', kind, choice: choice.id } }])

      const again = await turn.another(cues)
      const asksAgain = kind === 'once' || kind === 'deny'
      expect(await shown(again), kind).toBe(asksAgain ? 1 : 0)
      expect(await again.settled('deny')).toMatchObject({ outcome: 'completed' })
      expect((await again.tools()).map((row) => row.state)).toEqual([asksAgain || kind === 'deny_always' ? 'denied' : 'done'])
      await again.endsWell()

      const elsewhere = (await TurnUnderTest.begin(rig(), cues))!
      expect(await shown(elsewhere), `${kind} in another chat`).toBe(asksAgain || kind === 'session' ? 1 : 0)
      await elsewhere.settled('deny')
      await elsewhere.endsWell()
    }
  })

  play('a choice that was not offered changes nothing', [tools({ tool: 'shell', command: 'echo not-offered' }), text('Fine.')], async (turn) => {
    const { id } = await turn.asked()
    expect(codeOf(await settledOf(turn.decide('yes', id)))).toBe('invalid_choice')
    expect((await turn.open()).map((question) => question.id)).toEqual([id])
    await turn.decide('deny', id)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
  })

  play('a question is answered by one who came later and read the chat', [tools({ tool: 'shell', command: 'echo reload' }), text('It ran.')], async (turn) => {
    await turn.asked()
    const window = await rig().store.window(turn.started.session, { limit: 50 })
    const [found] = window!.rows.flatMap((row) => (row.kind === 'tool' && row.approval?.state === 'open' ? [row.approval] : []))
    await turn.decide('once', found!.id)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect((await turn.tools()).map((row) => row.state)).toEqual(['done'])
  })

  play('a question that the agent gives up is retired, and a late answer is refused', [tools({ tool: 'shell', command: 'echo timeout', ms: 150 }), text('Went on.')], async (turn) => {
    const { id, deadline } = await turn.asked()
    expect(deadline).toBeGreaterThan(0)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(OVER).toContain(codeOf(await settledOf(turn.decide('once', id))))
    expect(await turn.tools()).toMatchObject([{ state: 'denied', approval: { state: 'retired', why: 'expired' } }])
    expect(await turn.answer()).toBe('Went on.')
  })

  play('a clarifying question takes a choice', [{ cue: 'clarify', question: 'Which colour?', choices: ['red', 'blue'] }, text('Thanks.')], async (turn) => {
    const { id, question, choices } = await turn.clarified()
    expect([question, choices]).toEqual(['Which colour?', ['red', 'blue']])
    await turn.answers(id, 'blue')
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(await turn.clarified()).toMatchObject({ state: 'answered', answer: 'blue' })
    expect(rig().told('blue', await turn.answer())).toBe(true)
    expect(OVER).toContain(codeOf(await settledOf(turn.answers(id, 'red'))))
  })

  play('a clarifying question takes words of one’s own', [{ cue: 'clarify', question: 'Which one?', choices: ['red'] }, text('Thanks.')], async (turn) => {
    const words = 'neither, “green” or "blue" please \u{1F33F}'
    await turn.answers((await turn.clarified()).id, words)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(rig().told(words, await turn.answer())).toBe(true)
  })

  it('a clarifying question that nobody answers in time is retired, and the turn goes on', async () => {
    const quick = await makeRig({ clarify: 150 })
    try {
      const turn = await TurnUnderTest.begin(quick, [{ cue: 'clarify', question: 'Anybody?', choices: [], ms: 150 }, text('Went on.')])
      if (!turn) return
      const { id } = await turn.clarified()
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.clarified()).toMatchObject({ state: 'retired', why: 'expired' })
      expect(OVER).toContain(codeOf(await settledOf(turn.answers(id, 'late'))))
      expect(await turn.answer()).toContain('Went on.')
      await turn.endsWell()
    } finally {
      await quick.close()
    }
  })

  play('stop in a clarifying question retires it', [{ cue: 'clarify', question: 'Which one?', choices: [] }, text('Never said.')], async (turn) => {
    await turn.clarified()
    await turn.stop()
    expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
    expect(await turn.clarified()).toMatchObject({ state: 'retired', why: 'run_ended' })
    expect(await turn.answer()).toBe('')
  })

  play('a word while a tool works is delivered once the tool is done', [tools({ tool: 'shell', command: 'echo steered' }), text('Done.')], async (turn) => {
    const { id } = await turn.asked()
    expect(await turn.steer('Mind the gap')).toMatchObject({ accepted: true, run: turn.started.run })
    expect(await turn.steers()).toMatchObject([{ text: 'Mind the gap', state: 'live', steer: { state: 'accepted' } }])
    await turn.decide('once', id)
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    expect(await turn.steers()).toMatchObject([{ state: 'done', steer: { state: 'delivered' } }])
    expect(rig().told('Mind the gap', await turn.answer())).toBe(true)
  })

  play('a word in text is delivered, or given back to the draft when the turn is stopped', [text('Half an answer'), { cue: 'silence' }], async (turn) => {
    await turn.until(async () => (await turn.answer()) !== '')
    expect(await turn.steer('And quickly')).toMatchObject({ accepted: true })
    await turn.stop()
    expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
    const found = await turn.steers()
    expect(found).toHaveLength(1)
    expect([['delivered', 'done', undefined], ['returned', 'cancelled', 'draft']]).toContainEqual([found[0]!.steer.state, found[0]!.state, found[0]!.steer.to])
  })

  play('a word when nothing runs is not taken', [text('Over.')], async (turn) => {
    await turn.settled()
    await turn.until(async () => !rig().runs.live().some((live) => live.session === turn.started.session))
    expect(await turn.steer('Too late')).toMatchObject({ accepted: false, code: 'not_running' })
    expect(await turn.steers()).toEqual([])
  })

  play('a turn that nobody submitted is one of its own, after ours', [text('Ours.'), { cue: 'later', text: 'By itself.' }], async (turn) => {
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    const last = async () => [...(await turn.transcript()).turns.values()].at(-1)!
    await turn.until(async () => (await last()).id !== turn.started.turn && (await last()).runs[0]?.state === 'settled')
    expect(await last()).toMatchObject({ source: 'agent', runs: [{ outcome: 'completed' }] })
    expect(await turn.answer((await last()).id)).toBe('By itself.')
    expect(await turn.answer()).toBe('Ours.')
  })
}

/** How an answer to a question that is over is refused: while its run is known, and once it is not. */
const OVER = ['question_gone', 'question_not_found', 'approval_not_found']

/** The kinds of choices that the adapter's question about a command offers. */
async function offered(rig: Rig): Promise<ChoiceKind[]> {
  const turn = (await TurnUnderTest.begin(rig, [tools({ tool: 'shell', command: 'echo offered' })]))!
  const { choices } = await turn.asked()
  await turn.stop()
  await turn.settled()
  return choices.map((choice) => choice.kind)
}

export const text = (...deltas: string[]): Cue => ({ cue: 'text', deltas })
export const tools = (...calls: ToolCue[]): Cue => ({ cue: 'tools', calls })
