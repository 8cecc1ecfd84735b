import { createHash } from 'node:crypto'
import { Refusal } from '../contract/problems'
import type { Receipt, ReceiptScope, Store } from '../store/port'

/** SHA-256 of a value as canonical JSON: keys in order, nothing undefined (spec/log.md §2). */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const parts = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
  return `{${parts.join(',')}}`
}

/** What the same request was answered before; null when it is new. The same key with another body is refused (law 7). */
export async function storedReceipt(store: Store, scope: ReceiptScope, bodyHash: string): Promise<Receipt | null> {
  const receipt = await store.receipt(scope)
  if (receipt && receipt.bodyHash !== bodyHash) throw keyReused()
  return receipt
}

/** For a key that was used with another body. */
export function keyReused(): Refusal {
  return new Refusal('key_reused', 'This key was used for another request.')
}

/**
 * Requests with the same key, one after the other: a retry that comes while the first is on its way finds its receipt, and never an append that the store refuses
 * because of it, when its run may have counted on what it claimed.
 */
export class OneByKey {
  #last = new Map<string, Promise<unknown>>()

  async run<T>(scope: ReceiptScope | null, work: () => Promise<T>): Promise<T> {
    if (!scope) return work()
    const slot = JSON.stringify([scope.profile, scope.route, scope.key])
    const before = this.#last.get(slot)
    const mine = before ? before.then(work) : work()
    const over = mine.then(() => undefined, () => undefined)
    this.#last.set(slot, over)
    try {
      return await mine
    } finally {
      if (this.#last.get(slot) === over) this.#last.delete(slot)
    }
  }
}
