import { Refusal } from '../contract/problems'
import { hashOf } from '../runs/receipt'

/**
 * The client's key of a write, from the body or the `Idempotency-Key` header, and what the body is compared by: SHA-256 of the validated body as
 * canonical JSON without `key` (spec/log.md §2). Without a key there is no idempotency.
 */
export function keyOf(input: { key?: string }, header: string | undefined): { key: string; bodyHash: string } | null {
  if (header !== undefined && (header.length === 0 || header.length > 200)) throw new Refusal('bad_request', 'Idempotency-Key is not valid')
  if (header !== undefined && input.key !== undefined && header !== input.key) throw new Refusal('key_mismatch', 'The key in the body and the Idempotency-Key header differ')
  const key = input.key ?? header
  return key === undefined ? null : { key, bodyHash: hashOf({ ...input, key: undefined }) }
}
