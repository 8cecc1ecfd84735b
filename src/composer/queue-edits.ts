import { createMemo, createSignal, onCleanup, type Accessor } from 'solid-js'
import { joinedAttachments, withAttachments } from '../../server/contract/attachments'
import type { Queue, QueueItem } from '../../server/contract/queue'

/** A change that is shown before the server has said it. */
interface Edit { n: number; apply: (items: readonly QueueItem[]) => readonly QueueItem[]; touched: readonly string[]; since: number; done: boolean }

/** The server has answered, and its word by the stream comes so much later at most, ms; then the answer is believed. */
const TRAILS_MS = 2000

export interface QueueEdits {
  /** The waiting messages as they will be once everything that is under way is done. */
  shown: Accessor<readonly QueueItem[]>
  /** Something is under way about this message. */
  busy: (item: string) => boolean
  /** Shows a change at once and asks for it; a refusal takes it back and rejects. */
  run: (touched: readonly string[], apply: Edit['apply'], order: () => Promise<unknown>) => Promise<void>
}

/** Optimistic, and truthful: what is not confirmed is told apart, and what is refused is as it was. */
export function createQueueEdits(queue: Accessor<Queue>, later: (ms: number, run: () => void) => () => void): QueueEdits {
  const [edits, setEdits] = createSignal<Edit[]>([])
  const cancels = new Set<() => void>()
  onCleanup(() => cancels.forEach((cancel) => cancel()))
  let last = 0
  const drop = (n: number) => setEdits((all) => all.filter((edit) => edit.n !== n))
  // What is done and has been told by the server stands in the queue itself.
  const standing = createMemo(() => edits().filter((edit) => !(edit.done && queue().seq > edit.since)))
  const shown = createMemo(() => standing().reduce((items, edit) => edit.apply(items), queue().items))
  return {
    shown,
    busy: (item) => standing().some((edit) => edit.touched.includes(item)),
    async run(touched, apply, order) {
      const n = ++last
      setEdits((all) => [...all, { n, apply, touched, since: queue().seq, done: false }])
      try {
        await order()
        setEdits((all) => all.map((edit) => (edit.n === n ? { ...edit, done: true } : edit)))
        const cancel = later(TRAILS_MS, () => {
          cancels.delete(cancel)
          drop(n)
        })
        cancels.add(cancel)
      } catch (error) {
        drop(n)
        throw error
      }
    },
  }
}

/** The order after one message was put before another, or at the end. */
export function moved(items: readonly QueueItem[], id: string, before?: string): readonly QueueItem[] {
  const item = items.find((one) => one.id === id)
  if (!item || before === id) return items
  const rest = items.filter((one) => one.id !== id)
  const at = before === undefined ? -1 : rest.findIndex((one) => one.id === before)
  return at < 0 ? [...rest, item] : rest.toSpliced(at, 0, item)
}

/** As the server joins them: the first stays in its place with all the texts. */
export function joined(items: readonly QueueItem[], ids: readonly string[]): readonly QueueItem[] {
  const parts = items.filter((one) => ids.includes(one.id))
  const [first] = parts
  if (!first) return items
  const text = parts.map((one) => one.text).filter((one) => one.trim() !== '').join('\n\n')
  const files = withAttachments(joinedAttachments(parts.map(({ attachments }) => attachments)))
  return items.flatMap((one) => (one === first ? [{ ...one, text, ...files }] : ids.includes(one.id) ? [] : [one]))
}
