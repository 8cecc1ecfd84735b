/**
 * What a verb of the copies resolves with; none of them rejects. Storage that is full, blocked, evicted or dead is a normal state, in which
 * the page goes on from the network (DESIGN §7).
 * - `full`: the quota is used up; nothing of this write is there.
 * - `blocked`: the browser gives this page no database (private mode, a setting), or another version of us holds it.
 * - `gone`: the database was closed, deleted or broke under us.
 */
export type Held<T> = { ok: true; value: T } | { ok: false; why: Unheld }
export type Unheld = 'full' | 'blocked' | 'gone'

export function held<T>(value: T): Held<T> {
  return { ok: true, value }
}

/** Runs one use of a database and turns what it throws into a state. */
export async function holding<T>(work: () => Promise<T>): Promise<Held<T>> {
  try {
    return held(await work())
  } catch (error) {
    return { ok: false, why: unheld(error) }
  }
}

export function unheld(error: unknown): Unheld {
  const name = error instanceof Error || error instanceof DOMException ? error.name : ''
  if (name === 'QuotaExceededError') return 'full'
  if (name === 'SecurityError' || name === 'NotAllowedError' || name === 'VersionError' || name === 'BlockedError') return 'blocked'
  return 'gone'
}
