import type { ModelOffer } from '../port'
import type { Result } from './protocol/methods'

/** How hard Hermes can be told to think, weakest first (its own list; `none` switches it off). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']

/** Models of the providers that Hermes can use as it stands, its own order. */
export function offersOf({ providers }: Result<'model.options'>): ModelOffer[] {
  return (providers ?? []).filter(({ authenticated }) => authenticated !== false).flatMap(({ slug, models, capabilities }) => (models ?? []).map((id): ModelOffer => ({
    ref: { provider: slug, id }, label: id, ...(capabilities?.[id]?.reasoning ? { efforts: EFFORTS } : {}),
  })))
}
