import { describe, expect, test } from 'vitest'
import type { AgentFault, AgentInfo } from '../../../../server/contract/agents'
import { absenceOf, capabilitiesOf, faultOf, namedWith, shortOf, stateOf } from '../../../../src/agents/words'
import { ownModel } from '../../../../src/shell/own-model'
import type { ModelsStatus } from '../../../../server/contract/models'
import { effortName } from '../../../../src/composer/effort'

const info = (part: Partial<AgentInfo> = {}): AgentInfo => ({ kind: 'hermes', name: 'Hermes Agent', version: '0.19.1', profile: 'default', state: 'ready', capabilities: ['reasoning', 'effort'], chosen: true, restarts: 0, ...part })
const faults: AgentFault[] = ['not_installed', 'too_old', 'untested', 'extras_missing', 'unconfigured', 'unknown_profile', 'wrong_profile', 'does_not_start', 'no_answer', 'no_model']

describe('what is said of an agent', () => {
  test('its name comes with its version where it has one of its own', () => {
    expect(namedWith(info(), '0.19.1')).toBe('Hermes Agent 0.19.1')
    expect(namedWith({ kind: 'embedded', name: 'Talaria' }, '0.1.0')).toBe('Built-in agent')
  })

  test('the header says nothing of one that is there, and in few words what is in the way', () => {
    expect([shortOf(info()), shortOf(info({ state: 'idle' }))]).toEqual([null, null])
    expect(shortOf(info({ state: 'starting' }))).toBe('is starting')
    expect(shortOf(info({ state: 'degraded' }))).toBe('is starting again')
    expect(shortOf(info({ state: 'unavailable', fault: 'not_installed' }))).toBe('is not installed here')
    expect(shortOf(info({ state: 'unavailable', fault: 'wrong_profile' }))).toBe('cannot be used')
  })

  test('one without a program is ready, not running', () => {
    expect(stateOf(info())).toBe('Running')
    const { restarts: _, ...without } = info()
    expect(stateOf(without)).toBe('Ready')
  })

  test.each(faults)('%s has its words and a next step', (fault) => {
    const said = faultOf(info({ state: 'unavailable', fault }))!
    expect(said.what).toMatch(/\.$/)
    // What ends in a colon is followed by the command.
    expect(said.next.endsWith(':')).toBe(said.command !== null)
  })

  test('a fault that this build does not know is left to the program’s own words', () => {
    expect(faultOf(info({ fault: 'struck_by_lightning' as AgentFault }))).toBeNull()
  })

  test('the built-in agent without a model is told where one is connected, not how Hermes is', () => {
    expect(faultOf(info({ kind: 'embedded', state: 'unavailable', fault: 'no_model' }))).toEqual({ what: 'It has no model yet.', next: 'Connect a model, and it answers.', command: null })
  })

  test('every capability is named, those that it lacks with the reason', () => {
    const all = capabilitiesOf(info())
    expect(all.filter((one) => one.has).map((one) => one.name)).toEqual(['Shows what it thinks', 'Lets you choose how hard it thinks'])
    expect(new Set(all.map((one) => one.name)).size).toBe(24)
    expect(absenceOf(info({ kind: 'embedded' }))).not.toBe(absenceOf(info()))
  })
})

test('the model of a chat that names none is its agent’s own, and ours only for the built-in agent', () => {
  const status = { default: { provider: 'p', id: 'ours' }, agent: { kind: 'hermes', name: 'Hermes Agent', ready: true, model: { provider: 'q', id: 'its' } } } as ModelsStatus
  expect(ownModel(status, null)?.id).toBe('its')
  expect(ownModel(status, { kind: 'embedded', name: 'Talaria' })?.id).toBe('ours')
  expect(ownModel({ ...status, agent: { ...status.agent!, kind: 'embedded' } }, { kind: 'hermes', name: 'Hermes Agent' })).toBeNull()
  expect(ownModel(undefined, null)).toBeNull()
})

test('an effort is named in words, one of a newer agent by its own name', () => {
  expect([effortName('xhigh'), effortName('odd')]).toEqual(['Very high', 'odd'])
})
