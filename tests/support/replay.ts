import { emptyTranscript, fold, type ImportBatch } from '../../server/contract/fold'
import type { Transcript } from '../../server/contract/session'
import type { Store } from '../../server/store/port'

/** The fold of a session's log, with what its imports brought as the store has it. */
export async function replay(store: Store, session: string): Promise<Transcript> {
  const events = await store.events(session, { afterSeq: 0, limit: 1_000_000 })
  const batches = new Map<number, ImportBatch>()
  for (const { type, seq } of events) if (type === 'rows.imported') batches.set(seq, await store.imported(session, seq))
  return fold(emptyTranscript(), events, (seq) => batches.get(seq))
}
