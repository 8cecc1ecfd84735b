import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunProblemCode } from '../../server/contract/problems'
import type { Cue, MakeRig, ProblemKind, Rig, ToolCue } from './rig'
import { conformTalk, text, tools } from './conformance-talk'
import { codeOf, settledOf, TurnUnderTest } from './turn'

/** Characters that fall apart when they are cut: emoji, joined families, flags, combining marks, Indic and Thai clusters, a rare ideograph. */
const FRAGILE = 'a\u{1F680}e\u0301 \u{1F469}\u200D\u{1F469}\u200D\u{1F467} \u{1F1EE}\u{1F1F9} \u0915\u094D\u0937 \u0E17\u0E35\u0E48 \u{20BB7} end'

const PROBLEMS: Record<ProblemKind, RunProblemCode[]> = {
  unauthorized: ['auth_mismatch'],
  rate_limited: ['rate_limit'],
  server_error: ['provider_error', 'error'],
  refused: ['provider_unreachable'],
  hang: ['agent_silent'],
  empty: ['no_response'],
  cut: ['provider_garbled', 'provider_error', 'provider_unreachable'],
  malformed: ['provider_garbled', 'provider_error', 'no_response'],
}

/**
 * The conformance suite that every adapter passes (spec/agents.md §6, the lines that apply now), against the real actor. Each case ends with:
 * exactly one outcome, no open tool or question, the fold of the log equal to what the store shows, a next turn that works, no process left.
 */
export function conformance(name: string, makeRig: MakeRig): void {
  describe(`conformance of ${name}`, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await makeRig({})
      writeFileSync(join(rig.workspace, 'notes.txt'), 'first line\nsecond line\n')
      writeFileSync(join(rig.workspace, 'other.txt'), 'something else\n')
    })
    afterAll(() => rig?.close())

    const play = (title: string, cues: Cue[], act: (turn: TurnUnderTest) => Promise<void>): void =>
      it(title, async () => {
        const turn = await TurnUnderTest.begin(rig, cues)
        if (!turn) return
        await act(turn)
        await turn.endsWell()
      })

    play('plain text arrives whole', [text('Hello, ', 'world', '.')], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.answer()).toBe('Hello, world.')
    })

    play('reasoning stands in its own row before the answer', [{ cue: 'reasoning', deltas: ['Let me ', 'think.'] }, text('Done.')], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      const rows = await turn.rows()
      expect(rows.filter((row) => row.kind === 'thought').map((row) => row.text)).toEqual(['Let me think.'])
      expect(await turn.answer()).toBe('Done.')
      expect(rows.map((row) => row.kind)).toEqual(['thought', 'answer'])
    })

    play('text cut between every byte is put together again', [{ cue: 'bytes', text: FRAGILE }], async (turn) => {
      await turn.settled()
      expect(await turn.answer()).toBe(FRAGILE)
    })

    const long = Array.from({ length: 200 }, (_, i) => `${i} `.padEnd(999, 'abcdefghij klmno ') + '\n')
    play('an answer of 200 kB is whole', [{ cue: 'text', deltas: long }], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.answer()).toBe(long.join(''))
    })

    const many = Array.from({ length: 10_000 }, (_, i) => `w${i} `)
    play('ten thousand deltas are whole', [{ cue: 'text', deltas: many }], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.answer()).toBe(many.join(''))
    })

    play('parallel tools each have their row and their result', [tools(readNotes, readOther), text('Both read.')], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      const found = await turn.tools()
      expect(found.map((row) => row.state)).toEqual(['done', 'done'])
      expect(new Set(found.map((row) => row.tool.call)).size).toBe(2)
      expect(found.map((row) => row.tool.result ?? row.tool.output ?? '').sort().join('\n')).toMatch(/first line[\s\S]*something else/)
      expect(await turn.answer()).toBe('Both read.')
    })

    play('a failing tool fails alone', [tools({ tool: 'read_missing', file: 'nowhere.txt' }), text('It is not there.')], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect((await turn.tools()).map((row) => row.state)).toEqual(['failed'])
      expect(await turn.answer()).toBe('It is not there.')
    })

    play('an unknown tool fails alone', [tools({ tool: 'unknown', name: 'frobnicate' }), text('There is no such tool.')], async (turn) => {
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      const [row] = await turn.tools()
      expect(row).toMatchObject({ state: 'failed', tool: { name: 'frobnicate' } })
      expect(await turn.answer()).toBe('There is no such tool.')
    })

    play('what is written is shown as a diff', [tools({ tool: 'write', file: 'new.txt', text: 'brand new\n' }), text('Written.')], async (turn) => {
      expect(await turn.settled('once')).toMatchObject({ outcome: 'completed' })
      const [row] = await turn.tools()
      expect(row?.state).toBe('done')
      expect(row?.tool.diff ?? row?.approval?.diff).toContain('+brand new')
    })

    play('an allowed command runs', [tools({ tool: 'shell', command: 'echo conformance-allowed' }), text('It ran.')], async (turn) => {
      const question = await turn.asked()
      expect(question.state).toBe('open')
      expect(question.command).toContain('echo conformance-allowed')
      expect(question.choices.map((choice) => choice.kind)).toEqual(expect.arrayContaining(['once', 'deny']))
      await turn.decide('once', question.id)
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      const [row] = await turn.tools()
      expect(row).toMatchObject({ state: 'done', approval: { state: 'decided', kind: 'once', by: 'person' } })
      expect(row!.tool.output ?? row!.tool.result).toContain('conformance-allowed')
    })

    play('a refused command does not run, and the turn goes on', [tools({ tool: 'shell', command: 'echo conformance-refused > refused.txt' }), text('As you wish.')], async (turn) => {
      await turn.decide('deny', (await turn.asked()).id)
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      expect(await turn.tools()).toMatchObject([{ state: 'denied', approval: { state: 'decided', kind: 'deny' } }])
      expect(await turn.answer()).toBe('As you wish.')
    })

    play('a second answer to a question is refused', [tools({ tool: 'shell', command: 'echo once-only' }), text('Once.')], async (turn) => {
      const { id } = await turn.asked()
      const [first, second] = await Promise.allSettled([turn.decide('deny', id), turn.decide('once', id)])
      expect(first.status).toBe('fulfilled')
      expect(codeOf(second)).toBe('question_gone')
      await turn.settled()
      expect(await turn.tools()).toMatchObject([{ state: 'denied' }])
    })

    play('a late answer is refused', [tools({ tool: 'shell', command: 'echo too-late' })], async (turn) => {
      const { id } = await turn.asked()
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
      expect(codeOf(await settledOf(turn.decide('once', id)))).toBe('question_gone')
      expect(await turn.tools()).toMatchObject([{ approval: { state: 'retired', why: 'run_ended' } }])
    })

    play('two questions are answered each for itself', [tools({ tool: 'shell', command: 'echo number-one' }, { tool: 'shell', command: 'echo number-two' }), text('Both settled.')], async (turn) => {
      const first = await turn.asked()
      const open = await turn.open()
      for (const question of open.length > 1 ? [...open].reverse() : [first]) await turn.decide(question.command!.includes('two') ? 'deny' : 'once', question.id)
      if (open.length < 2) {
        const next = await turn.asked()
        await turn.decide(next.command!.includes('two') ? 'deny' : 'once', next.id)
      }
      expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
      const states = Object.fromEntries((await turn.tools()).map((row) => [row.approval!.command!.slice(-3), row.state]))
      expect(states).toEqual({ one: 'done', two: 'denied' })
    })

    play('a question that nobody answers keeps the run alive until it is stopped', [tools({ tool: 'shell', command: 'echo never' })], async (turn) => {
      await turn.asked()
      await new Promise((resolve) => setTimeout(resolve, 150))
      expect(rig.runs.live().map((live) => live.run)).toContain(turn.started.run)
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
    })

    conformTalk(() => rig, makeRig, play)

    play('stop during start', [{ cue: 'silence' }], async (turn) => {
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled', stoppedBy: 'person' })
    })

    play('stop before the first token', [{ cue: 'silence' }], async (turn) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
    })

    play('stop in text keeps what was written', [text('Half an answer'), { cue: 'silence' }], async (turn) => {
      await turn.until(async () => (await turn.answer()) !== '')
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
      expect('Half an answer'.startsWith(await turn.answer())).toBe(true)
    })

    play('stop in a tool ends the tool', [tools({ tool: 'slow' }), text('Never said.')], async (turn) => {
      await turn.until(async () => {
        await turn.answerOpen('once')
        const found = await turn.tools()
        return found.some((row) => row.state === 'live' && row.approval?.state !== 'open')
      })
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
      expect((await turn.tools()).map((row) => row.state)).toEqual(['cancelled'])
      expect(await turn.answer()).toBe('')
    })

    play('stop in a question retires it', [tools({ tool: 'shell', command: 'echo asked' })], async (turn) => {
      await turn.asked()
      await turn.stop()
      expect(await turn.settled()).toMatchObject({ outcome: 'cancelled' })
      expect(await turn.open()).toEqual([])
    })

    play('stop twice is one stop', [text('Some'), { cue: 'silence' }], async (turn) => {
      await turn.until(async () => (await turn.answer()) !== '')
      expect(await Promise.all([turn.stop(), turn.stop()])).toMatchObject([{ cancelled: true }, { cancelled: true }])
      await turn.settled()
      expect(await turn.stop()).toMatchObject({ cancelled: false })
      const events = await rig.store.events(turn.started.session, { afterSeq: 0, limit: 100_000 })
      expect(events.filter((event) => event.type === 'run.stopping' && event.run === turn.started.run)).toHaveLength(1)
    })

    for (const kind of Object.keys(PROBLEMS) as ProblemKind[]) {
      if (kind === 'hang') continue
      play(`a provider that fails (${kind}) ends the run as failed and says so`, [...(kind === 'cut' ? [text('Half a sen')] : []), { cue: 'problem', kind }], async (turn) => {
        const run = await turn.settled()
        expect(run.outcome).toBe('failed')
        expect(PROBLEMS[kind]).toContain(run.problem?.code)
        if (kind === 'cut') expect('Half a sen'.startsWith(await turn.answer())).toBe(true)
        const value = await turn.transcript()
        expect([...value.rows.values()].filter((row) => row.kind === 'user' && row.turn === turn.started.turn)).toHaveLength(1)
        const again = rig.message([text('Better.')])
        if (again !== null) expect(await turn.retries()).toBe(true)
      })
    }

    it('an agent that says nothing any more fails as silent and the run ends', async () => {
      const quick = await makeRig({ limits: { silence: 400, ladder: 1000 } })
      try {
        const turn = await TurnUnderTest.begin(quick, [{ cue: 'problem', kind: 'hang' }])
        if (!turn) return
        const run = await turn.settled()
        expect(run).toMatchObject({ outcome: 'failed', problem: { code: 'agent_silent' } })
        await turn.endsWell()
      } finally {
        await quick.close()
      }
    })

    it('two chats at once do not mix', async () => {
      const cues = (word: string): Cue[] => [{ cue: 'text', deltas: Array.from({ length: 200 }, (_, i) => `${word}${i} `) }]
      const [one, two] = await Promise.all([TurnUnderTest.begin(rig, cues('left')), TurnUnderTest.begin(rig, cues('right'))])
      if (!one || !two) return
      await Promise.all([one.settled(), two.settled()])
      expect(await one.answer()).toBe(Array.from({ length: 200 }, (_, i) => `left${i} `).join(''))
      expect(await two.answer()).toBe(Array.from({ length: 200 }, (_, i) => `right${i} `).join(''))
      await one.endsWell()
      await two.endsWell()
    })
  })
}

const readNotes: ToolCue = { tool: 'read', file: 'notes.txt', text: 'first line\nsecond line\n' }
const readOther: ToolCue = { tool: 'read', file: 'other.txt', text: 'something else\n' }
