import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../../server/agents/port'
import { settle } from '../../../support/fake-timers'
import { Puppet } from '../../../support/puppet'
import { seeded } from '../../../support/runs-rig'
import { talking } from './talking'

const think = (delta: string): AgentEvent => ({ type: 'reasoning', delta })
const text = (delta: string): AgentEvent => ({ type: 'text', delta })
const whole = (words: string): AgentEvent => ({ type: 'message', text: words })
const tool: AgentEvent[] = [{ type: 'tool.started', call: 'c', name: 'x', verb: 'run' }, { type: 'tool.closed', call: 'c', state: 'done' }]

async function chat(echoes: boolean) {
  const puppet = new Puppet()
  puppet.echoes = echoes
  const rig = await talking({}, puppet)
  const shown = async () => (await rig.rows()).filter((row) => row.kind === 'thought' || row.kind === 'answer').map((row) => [row.kind, row.text])
  const cuts = async () => (await rig.events(rig.session)).flatMap((event) => (event.type === 'row.cut' ? [[event.why, event.keep]] : []))
  const say = async (...events: AgentEvent[]) => {
    await rig.say(...events)
    await rig.timers.advance(100)
  }
  return { ...rig, say, shown, cuts }
}

describe('reasoning that repeats what is said', () => {
  it('case 107: as words, as reasoning and as a message, a sentence is shown once', async () => {
    const { say, shown, cuts } = await chat(true)
    await say(text('Found X.'), think('Found X.'), whole('Found X.'))
    expect(await shown()).toEqual([['answer', 'Found X.']])
    expect(await cuts()).toEqual([])
  })

  it('case 108: reasoning that proves to be a message is cut, and the message shown', async () => {
    const { say, shown, cuts, rows } = await chat(true)
    await say(think('Let me look.\n\nFound'), think(' X.'), whole('Found X.'))
    expect(await shown()).toEqual([['thought', 'Let me look.'], ['answer', 'Found X.']])
    expect(await cuts()).toEqual([['echo', 12]])
    expect((await rows()).map((row) => row.state)).toEqual(['done', 'done'])
    const alone = await chat(true)
    await alone.say(think('Found X.'), whole('Found X.'))
    expect(await alone.shown()).toEqual([['thought', ''], ['answer', 'Found X.']])
  })

  it('case 104: also when the reasoning was closed long ago, and its row keeps its state', async () => {
    const { say, shown, cuts, rows } = await chat(true)
    await say(think('I see. Found X.'), ...tool, think('Next thought'), whole('Found X.'))
    expect(await shown()).toEqual([['thought', 'I see.'], ['thought', 'Next thought'], ['answer', 'Found X.']])
    expect(await cuts()).toEqual([['echo', 6]])
    expect((await rows())[0]).toMatchObject({ kind: 'thought', state: 'done' })
  })

  it('case 103: whatever white space stands between the words', async () => {
    const { say, shown } = await chat(true)
    await say(think(`Hm. Found${' '.repeat(5000)}\n\tX.`), whole('Found X.'))
    expect(await shown()).toEqual([['thought', 'Hm.'], ['answer', 'Found X.']])
  })

  it('case 109: of a long passage of the answer is dropped; a few words of it are kept', async () => {
    const answer = Array.from({ length: 40 }, (_, i) => `word${i}`).join(' ')
    const { say, shown } = await chat(true)
    await say(text(answer), think(answer.slice(0, 120)), think('word3 word4 word5'))
    expect(await shown()).toEqual([['answer', answer], ['thought', 'word3 word4 word5']])
  })

  it('goes on in its row after a cut', async () => {
    const { say, shown } = await chat(true)
    await say(text('Found X.'), think('So it is. Found'), think(' X.'), whole('Found X.'), think('And now'))
    expect((await shown()).map(([kind]) => kind)).toEqual(['answer', 'thought', 'thought'])
    const live = await chat(true)
    await live.say(think('a b'), whole('b'), think('c'), whole('c'))
    expect(await live.shown()).toEqual([['thought', 'a'], ['answer', 'b'], ['thought', ''], ['answer', 'c']])
  })

  it('is not looked for where the agent does not say that it echoes', async () => {
    const { say, shown, cuts } = await chat(false)
    await say(text('Found X.'), think('Found X.'), ...tool, think('Found Y.'), whole('Found Y.'))
    expect(await shown()).toEqual([['answer', 'Found X.'], ['thought', 'Found X.'], ['thought', 'Found Y.'], ['answer', 'Found Y.']])
    expect(await cuts()).toEqual([])
  })

  it('is compared with what stands, not with what the agent took back', async () => {
    const { say, shown } = await chat(true)
    await say(text('Found X.'), { type: 'text.replace', from: 6, text: 'Y.' }, think('Found X.'), ...tool, think('Found Y.'))
    expect(await shown()).toEqual([['answer', 'Found Y.'], ['thought', 'Found X.']])
  })
})

describe('a whole message', () => {
  for (const echoes of [true, false]) {
    it(`that was said already is not said again, also over several rows (echo ${echoes ? 'watched' : 'not watched'})`, async () => {
      const { say, shown, turn, rows, runOf, started } = await chat(echoes)
      await say(text('Part one,'), think('hm, well'), text(' part two.'), whole('Part one, part two.'))
      expect(await shown()).toEqual([['answer', 'Part one,'], ['thought', 'hm, well'], ['answer', ' part two.']])
      await say(...tool, whole('Part one, part two.'), whole(''), whole('  \n'))
      expect(await shown()).toHaveLength(3)
      turn.end({ outcome: 'completed' })
      await settle()
      expect((await runOf(started)).outcome).toBe('completed')
      expect((await rows()).every((row) => row.state === 'done')).toBe(true)
    })

    it(`that was not said is shown in a row of its own, and what follows in another (echo ${echoes ? 'watched' : 'not watched'})`, async () => {
      const { say, shown, turn, rows, runOf, started } = await chat(echoes)
      await say(text('First.'), whole('Second.'), text('Third.'), whole('Fourth.'))
      expect(await shown()).toEqual([['answer', 'First.'], ['answer', 'Second.'], ['answer', 'Third.'], ['answer', 'Fourth.']])
      turn.end({ outcome: 'completed' })
      await settle()
      expect((await runOf(started)).finalRow).toBe((await rows()).at(-1)!.id)
    })

    it(`whose beginning was said goes on with the rest of it (echo ${echoes ? 'watched' : 'not watched'})`, async () => {
      const { say, shown } = await chat(echoes)
      await say(text('Found\uD83D'), whole('Found\u{1F680} it.'), text('Next'))
      expect(await shown()).toEqual([['answer', 'Found\u{1F680} it.'], ['answer', 'Next']])
    })
  }

  it('shows each sentence once and all of the reasoning else, whatever way it comes (any seed)', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32)
    console.log(`echo: seed ${seed}`)
    const random = seeded(seed)
    for (let round = 0; round < 40; round++) {
      const { say, rows } = await chat(true)
      const sentences = Array.from({ length: 6 }, (_, i) => `Sentence number ${i}:${' \n'.repeat(Math.floor(random() * 3))} it ends here${i}.`)
      const thoughts = sentences.map((_, i) => `(genuine thought ${i})`)
      for (const [i, sentence] of sentences.entries()) {
        const cut = Math.floor(random() * sentence.length)
        const pieces = random() < 0.5 ? [sentence] : [sentence.slice(0, cut), sentence.slice(cut)]
        await say(think(thoughts[i]!))
        const way = Math.floor(random() * 3)
        if (way === 0) await say(...pieces.map(text), think(sentence), whole(sentence))
        else if (way === 1) await say(...pieces.map((piece, k) => think(k === 0 ? ` ${piece}` : piece)), whole(sentence))
        else await say(whole(sentence))
        if (random() < 0.5) await say(...tool)
      }
      const all = await rows()
      const join = (kind: string) => all.filter((row) => row.kind === kind).map((row) => row.text).join('\n')
      expect(join('answer').replace(/\s/g, '')).toBe(sentences.join('').replace(/\s/g, ''))
      expect(join('thought').replace(/\s/g, '')).toBe(thoughts.join('').replace(/\s/g, ''))
    }
  })
})
