import { describe, expect, test } from 'vitest'
import type { Connection, Preset } from '../../../../server/contract/models'
import { errorsOf, failureText, startOf } from '../../../../src/connect/form-state'

const preset = (part: Partial<Preset> = {}): Preset => ({ id: 'custom', display_name: 'Other', kind: 'openai', base_url: '', key_env: [], key: 'optional', editable: true, ...part })
const kept = (part: Partial<Connection> = {}): Connection => ({
  id: 'custom', display_name: 'Other', kind: 'openai', source: 'page', state: 'ready', base_url: 'http://box:8000/v1', has_key: true, key_source: 'page', model: 'm1', removable: true, ...part,
})
const blank = { address: '', key: '', model: '' }

describe('the form that connects a model', () => {
  test('starts from what is kept, and never shows a key', () => {
    expect(startOf(preset(), kept())).toEqual({ address: 'http://box:8000/v1', key: '', model: 'm1' })
    expect(startOf(preset({ base_url: 'https://a.example/v1' }), undefined)).toEqual({ address: 'https://a.example/v1', key: '', model: '' })
  })

  test('wants an address that is one, where it may be changed', () => {
    expect(errorsOf({ ...blank, address: 'box:8000' }, preset(), undefined, false)).toHaveProperty('address')
    expect(errorsOf({ ...blank, address: 'http://box:8000/v1' }, preset(), undefined, false)).toEqual({})
    expect(errorsOf(blank, preset({ editable: false }), undefined, false)).toEqual({})
  })

  test('wants a key only where one is needed and none is kept', () => {
    const needed = preset({ editable: false, key: 'needed' })
    expect(errorsOf(blank, needed, undefined, false)).toHaveProperty('key')
    expect(errorsOf(blank, needed, kept(), false)).toEqual({})
    expect(errorsOf({ ...blank, key: 'sk' }, needed, undefined, false)).toEqual({})
  })

  test('wants a model to connect, not to check', () => {
    const local = preset({ editable: false })
    expect(errorsOf(blank, local, undefined, false)).toEqual({})
    expect(errorsOf(blank, local, undefined, true)).toHaveProperty('model')
  })

  test('every way a check can fail has words', () => {
    for (const kind of ['address', 'auth', 'http', 'network', 'timeout', 'not_a_model_server', 'key'] as const) {
      expect(failureText({ kind, status: 500 }).length).toBeGreaterThan(5)
    }
  })
})
