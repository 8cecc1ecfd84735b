/** What an application changed, so that stores write and pages draw only that. */
export interface Touched {
  head: boolean
  /** Any of the waiting messages; the queue is written and drawn whole. */
  queue: boolean
  /** Turns that were admitted or of which a run changed. */
  turns: Set<string>
  /** Opened or changed rows. */
  rows: Set<string>
  /** Rows that only grew, with the text that was added: a renderer needs no more. A row in `rows` is not in here. */
  grew: Map<string, string>
  /** Ids of rows and turns that left, also of such as a partial transcript never held: a cache may hold them. */
  removed: Set<string>
}

export function untouched(): Touched {
  return { head: false, queue: false, turns: new Set(), rows: new Set(), grew: new Map(), removed: new Set() }
}

/** Joins what a later application touched into what earlier ones did, so that a batch is drawn or written once. */
export function addTouched(into: Touched, later: Touched): void {
  into.head ||= later.head
  into.queue ||= later.queue
  for (const id of later.turns) {
    into.turns.add(id)
    into.removed.delete(id)
  }
  for (const id of later.rows) {
    into.rows.add(id)
    into.grew.delete(id)
    into.removed.delete(id)
  }
  for (const [id, text] of later.grew) {
    if (!into.rows.has(id)) into.grew.set(id, (into.grew.get(id) ?? '') + text)
  }
  for (const id of later.removed) {
    into.removed.add(id)
    into.turns.delete(id)
    into.rows.delete(id)
    into.grew.delete(id)
  }
}
