import type { Attention } from '../../server/contract/listing'

const ORDER: Attention[] = ['question', 'failed', 'unread']

/** The next chat of the list that needs the person, behind the open one and around the end: questions before failures before unread answers. */
export function nextNeeding(ids: string[], open: string | null, attention: (id: string) => Attention | null): string | undefined {
  const at = open === null ? -1 : ids.indexOf(open)
  const around = [...ids.slice(at + 1), ...ids.slice(0, Math.max(0, at))]
  for (const kind of ORDER) {
    const found = around.find((id) => attention(id) === kind)
    if (found) return found
  }
  return undefined
}
