import type { RouteName } from '../../server/contract/routes'

/** Small answers of which the page keeps a copy; transcripts and lists are kept by `src/sync`. The check says that an answer is what the contract promises. */
const KEPT: Partial<Record<RouteName, (output: unknown) => boolean>> = {
  'GET /api/models': (output) => isRecord(output) && Array.isArray(output.groups),
  'GET /api/providers': (output) => isRecord(output),
}

/** Under which key an answer is kept; null when no copy is kept of it. The shim looks it up under the same key. */
export function keptAs(name: RouteName, output: unknown): string | null {
  return KEPT[name]?.(output) ? name : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
