import { Refusal } from '../../server/contract/problems'
import type { Models } from '../../server/models/port'

/** Nothing is connected: for tests of what stands before and around models. A reference is taken as it was sent. */
export function noModels(): Models {
  return {
    status: () => Promise.resolve({ completed: false, default: null, default_source: null, hermes: { state: 'none' }, connections: [], local: [], presets: [] }),
    connections: () => Promise.resolve({ providers: [], active_provider: null }),
    offers: () => Promise.resolve({ active_provider: null, default_model: null, groups: [], aliases: {}, configured_model_badges: {} }),
    check: () => Promise.resolve({ ok: false, error: { kind: 'network' } }),
    save: () => Promise.reject(new Refusal('connection_invalid', 'No connection can be kept here')),
    remove: () => Promise.reject(new Refusal('not_found', 'not found')),
    chooseDefault: (_, model) => Promise.resolve(model),
    defaultModel: () => Promise.resolve(null),
    resolve: (_, { model, model_provider }) => Promise.resolve(model == null ? null : { provider: model_provider ?? 'scripted', id: model }),
    endpoint: () => Promise.resolve({ state: 'missing', code: 'no_model', words: 'No model is connected' }),
  }
}
