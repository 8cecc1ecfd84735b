import { createHash } from 'node:crypto'
import type { ModelName, OffersGroup } from '../contract/models'
import type { FullConnection } from './connection'
import type { Caller } from './http'
import { listModels } from './list'

/** ms that a list may take, for which it is believed, and for which a failure is. */
const DEADLINE = 4_000
const KEPT = 300_000
const FAILED = 15_000

export interface LiveList { models: ModelName[]; error?: OffersGroup['models_endpoint_error'] }

/** Live lists of models, kept for some minutes for each address and key. A connection whose models are configured is not asked. */
export function makeLists(call: Caller, now: () => number): { of(c: FullConnection): Promise<LiveList>; sizeOf(c: FullConnection, model: string): number | undefined; forget(): void } {
  const held = new Map<string, { until: number; list: Promise<LiveList>; value?: LiveList }>()
  const keyOf = (c: FullConnection): string => createHash('sha256').update(JSON.stringify([c.kind, c.base_url, c.key, c.headers])).digest('hex')
  const fetch = async (c: FullConnection): Promise<LiveList> => {
    const listed = await listModels(call, { kind: c.kind === 'anthropic' ? 'anthropic' : 'openai', base_url: c.base_url, key: c.key, headers: c.headers }, DEADLINE)
    if (listed.ok) return { models: listed.models }
    const { kind, words } = listed.error
    return { models: [], error: { kind: kind === 'auth' ? 'auth' : kind === 'network' || kind === 'timeout' ? 'network' : 'http', ...(words !== undefined && { words }) } }
  }
  return {
    of: (c) => {
      if (c.listed) return Promise.resolve({ models: c.listed })
      const key = keyOf(c)
      const old = held.get(key)
      if (old && old.until > now()) return old.list
      const entry: { until: number; list: Promise<LiveList>; value?: LiveList } = { until: now() + KEPT, list: fetch(c) }
      held.set(key, entry)
      void entry.list.then((value) => {
        entry.value = value
        if (value.error) entry.until = now() + FAILED
      })
      return entry.list
    },
    sizeOf: (c, model) => held.get(keyOf(c))?.value?.models.find((m) => m.id === model)?.context_size,
    forget: () => held.clear(),
  }
}
