import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { settle } from '../support/fake-timers'
import { DEEDS, OFTEN } from './deeds'
import { Life, seen } from './life'

const LIVES = Number(process.env.HISTORIES ?? 800)
const MOST_STEPS = 90
const STEPS = 20_000

/** One deed of a generated life, and whether everything comes to rest after it. */
class Step implements fc.AsyncCommand<object, Life> {
  constructor(private readonly name: string, private readonly rests: boolean) {}

  check(): boolean {
    return true
  }

  async run(_: object, life: Life): Promise<void> {
    seen.steps++
    // A fault that waits for its append may meet a run that begins later.
    if (life.faulty) life.harm()
    await ending(this.name, DEEDS[this.name]!(life))
    if (this.rests) await settle()
  }

  toString(): string {
    return this.name + (this.rests ? '' : ' &')
  }
}

/** All of a life is in fake time: what does not end at once never would. */
async function ending(name: string, deed: void | Promise<void>): Promise<void> {
  let guard: NodeJS.Timeout | undefined
  const hung = new Promise<never>((_, reject) => (guard = setTimeout(() => reject(new Error(`${name} does not end`)), 20_000)))
  await Promise.race([deed, hung]).finally(() => clearTimeout(guard))
}

const deeds = fc.oneof(...Object.keys(DEEDS).map((name) => ({ weight: OFTEN[name] ?? 2, arbitrary: fc.boolean().map((rests) => new Step(name, rests)) })))

describe('a chat that lives through anything', () => {
  it(`keeps the laws over ${LIVES} generated lives and ${STEPS} steps`, async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
    console.log(`lives: seed ${seed}`)
    const lives = fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.array(deeds, { minLength: 20, maxLength: MOST_STEPS, size: 'max' }), async (dice, steps) => {
      const life = new Life(dice)
      await life.begin()
      await fc.asyncModelRun(() => ({ model: {}, real: life }), steps)
      await ending('the judgement', life.judge())
    })
    await fc.assert(lives, { seed, ...(process.env.FC_PATH ? { path: process.env.FC_PATH, endOnFailure: true } : {}), numRuns: LIVES, interruptAfterTimeLimit: 240_000, markInterruptAsFailure: true })
    console.log(`lives: ${JSON.stringify(seen)}`)
    expect(seen.steps).toBeGreaterThanOrEqual(STEPS)
    for (const [name, count] of Object.entries(seen)) expect(count, name).toBeGreaterThan(LIVES / 80)
  })
})
