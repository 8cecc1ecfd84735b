import { createSignal, onCleanup, untrack } from 'solid-js'
import { lastLines } from './steps'
import type { RowCell } from './model'

/** How much of the end of a thought is looked at, UTF-16 units: two lines of any width. */
const TAIL = 400

/** The last two lines of a thought that is being had; the rest is behind its step. */
export function ThoughtTail(props: { cell: RowCell }) {
  let tail = ''
  const [shown, setShown] = createSignal('')
  const show = (text: string) => {
    tail = text.slice(-TAIL)
    setShown(lastLines(tail, 2))
  }
  const cell = untrack(() => props.cell)
  show(cell.current().text)
  onCleanup(cell.onGrow((text) => show(tail + text)))
  return (
    <p class="tx-tail" dir="auto">
      <span>{shown()}</span>
    </p>
  )
}
