import { describe, expect, it } from 'vitest'
import { makeOffers } from '../../../../server/agents/offers'
import { Refusal } from '../../../../server/contract/problems'
import type { Models } from '../../../../server/models/port'
import { FakeTimers } from '../../../support/fake-timers'
import { testProfile } from '../../../support/runs-rig'
import { StandIn } from '../../../support/stand-in'

const profile = testProfile()

function offering() {
  const hermes = new StandIn()
  const asked: unknown[] = []
  const models = {
    resolve: async (_: unknown, input: { model?: string | null }) => {
      asked.push(input)
      return input.model ? { provider: 'ours', id: input.model } : null
    },
    offers: async () => ({ active_provider: 'ours', default_model: 'm', groups: [], aliases: {}, configured_model_badges: {} }),
  } as unknown as Models
  const timers = new FakeTimers()
  return { hermes, asked, timers, offers: makeOffers([hermes], models, timers) }
}

const codeOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, (error: unknown) => (error instanceof Refusal ? error.problem.code : error))

describe('a model of a chat', () => {
  it('of the built-in agent is one of our connections, of another agent one of its own list', async () => {
    const { offers, asked, hermes } = offering()
    expect(await offers.resolve(profile, 'embedded', { model: 'm' })).toEqual({ model: { provider: 'ours', id: 'm' } })
    expect(await offers.resolve(profile, 'hermes', { model: 'small' })).toEqual({ model: hermes.offers[1]!.ref })
    expect(asked).toHaveLength(1)
  })

  it('may be one that a listed provider does not list, but of no other provider', async () => {
    const { offers } = offering()
    expect(await offers.resolve(profile, 'hermes', { model: 'brand-new', model_provider: 'openrouter' })).toEqual({ model: { provider: 'openrouter', id: 'brand-new' } })
    expect(await codeOf(offers.resolve(profile, 'hermes', { model: 'x', model_provider: 'elsewhere' }))).toBe('model_unknown')
    expect(await codeOf(offers.resolve(profile, 'hermes', { model: 'x' }))).toBe('model_unknown')
  })

  it('and an effort are left to the agent where it cannot say what it has', async () => {
    const { offers, hermes } = offering()
    hermes.models = () => Promise.reject(new Error('not now'))
    expect(await offers.resolve(profile, 'hermes', { model: 'x', model_provider: 'elsewhere', effort: 'odd' })).toEqual({ model: { provider: 'elsewhere', id: 'x' }, effort: 'odd' })
  })

  it('that nobody names is not looked up: a message waits for no list', async () => {
    const { offers, hermes } = offering()
    hermes.models = () => Promise.reject(new Error('was asked'))
    expect(await offers.resolve(profile, 'hermes', {}, { model: null, effort: 'high' })).toEqual({})
  })

  it('of an agent whose list never comes is answered after ten seconds', async () => {
    const { offers, hermes, timers } = offering()
    hermes.models = () => new Promise(() => undefined)
    const answer = offers.answer(profile, 'hermes')
    await timers.advance(10_000)
    expect(await answer).toMatchObject({ groups: [], default_model: 'hermes-4-70b', agent: { kind: 'hermes', unlisted: true } })
  })
})

describe('an effort', () => {
  it('fits the model that is chosen with it, that the chat has, or that is the agent’s own', async () => {
    const { offers, hermes } = offering()
    const [large, small] = hermes.offers.map((one) => one.ref)
    expect(await offers.resolve(profile, 'hermes', { effort: 'high' }, { model: large! })).toEqual({ effort: 'high' })
    expect(await offers.resolve(profile, 'hermes', { effort: 'high' }, { model: null })).toEqual({ effort: 'high' })
    expect(await codeOf(offers.resolve(profile, 'hermes', { effort: 'high' }, { model: small! }))).toBe('bad_request')
    expect(await codeOf(offers.resolve(profile, 'hermes', { effort: 'high', model: 'small' }, { model: large! }))).toBe('bad_request')
  })

  it('is given back by nothing as by null', async () => {
    const { offers } = offering()
    for (const effort of [null, '']) expect(await offers.resolve(profile, 'hermes', { effort }, { model: null, effort: 'high' })).toEqual({ effort: null })
  })
})
