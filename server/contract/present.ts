/**
 * A copy without the keys whose value is `undefined`. What the fold keeps must be the same whether an event came from memory or
 * through JSON, which drops such keys.
 */
export function present<T extends object>(value: T): T {
  const copy = { ...value }
  for (const key in copy) if (copy[key] === undefined) delete copy[key]
  return copy
}
