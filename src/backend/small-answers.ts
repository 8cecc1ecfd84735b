import { answerKey } from '../cache/answer-key'
import type { RouteName } from '../../server/contract/routes'

/** Small answers of which the page keeps a copy; transcripts and lists are kept by `src/sync`. The check says that an answer is what the contract promises. */
const KEPT: Partial<Record<RouteName, (output: unknown) => boolean>> = {
  'GET /api/models': (output) => isRecord(output) && Array.isArray(output.groups),
  'GET /api/providers': (output) => isRecord(output),
}

/** Under which key the answer to a request is kept; null when no copy is kept of it. The shim looks it up under the same key. */
export function keptAs(name: RouteName, request: Pick<Request, 'url'>, output: unknown): string | null {
  return KEPT[name]?.(output) ? answerKey(name, new URL(request.url).searchParams.get('agent')) : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
