import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conformance } from '../agent/conformance'
import { TurnUnderTest } from '../agent/turn'
import { hermesRig } from './hermes-rig'
import type { HermesRig } from './hermes-rig'

conformance('the real Hermes Agent', (options) => hermesRig(options))

describe('a chat on the real Hermes Agent', () => {
  let rig: HermesRig
  beforeAll(async () => {
    rig = await hermesRig()
  })
  afterAll(() => rig?.close())

  it('goes on in a new program when its own was killed between two turns', async () => {
    const turn = (await TurnUnderTest.begin(rig, [{ cue: 'text', deltas: ['First.'] }]))!
    expect(await turn.settled()).toMatchObject({ outcome: 'completed' })
    process.kill(rig.program.status().pid!, 'SIGKILL')
    const next = await turn.another([{ cue: 'text', deltas: ['Second.'] }])
    expect(await next.settled()).toMatchObject({ outcome: 'completed' })
    expect(await next.answer()).toBe('Second.')
    await next.endsWell()
  })
})
