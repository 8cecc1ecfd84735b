import { createEffect, onCleanup } from 'solid-js'
import { makeMarkdown, type Markdown, type MarkdownOptions } from './markdown/stream'
import type { Slices } from './frames'
import type { RowCell } from './model'

/** Growth up to this length is drawn at once; more waits for the slices, UTF-16 units. */
const AT_ONCE = 6_000
const SLICE = 2_000
const MANY_BLOCKS = 48
/** After this long without growth everything that has come is drawn. */
const REST_MS = 150

/**
 * Keeps an element filled with the drawn text of a row, as long as its owner lives. Growth goes straight into the block parser; text that
 * did not grow but changed (cut, replaced by a catch-up) is drawn anew. What is there already is drawn at once only where `first` says so;
 * a chat of sixty rows would else be one long task.
 */
export function createProse(into: HTMLElement, cell: RowCell, options: MarkdownOptions, slices: Slices, first: boolean): void {
  let markdown: Markdown = makeMarkdown(into, options)
  let known = ''
  let waiting = ''
  let final = false
  let finished = false
  let grew = false
  let stopSlices: (() => void) | null = null
  let patient = !first
  let resting: ReturnType<typeof setTimeout> | undefined

  // Blocks of a long answer that are out of sight cost nothing (packages.md §8). One that grew here goes without: each block would be looked at
  // with every frame (measured: 500 blocks three times the work of 60), and what is laid out already is not laid out again.
  const measure = () => into.classList.toggle('tx-long', !grew && into.childElementCount > MANY_BLOCKS)
  const step = (): boolean => {
    const piece = waiting.slice(0, SLICE)
    waiting = waiting.slice(SLICE)
    markdown.push(piece, waiting !== '')
    measure()
    if (waiting !== '') return true
    end()
    stopSlices = null
    patient = false
    return false
  }
  const end = () => {
    if (!final || finished || waiting !== '') return
    finished = true
    markdown.finish()
  }
  const add = (text: string) => {
    known += text
    waiting += text
    if (stopSlices) return
    if (patient || waiting.length > AT_ONCE) {
      stopSlices = slices.add(step)
      return
    }
    markdown.push(waiting)
    waiting = ''
    measure()
    clearTimeout(resting)
    if (!final) resting = setTimeout(() => markdown.rest(), REST_MS)
  }
  const restart = () => {
    stopSlices?.()
    stopSlices = null
    into.replaceChildren()
    markdown = makeMarkdown(into, options)
    known = waiting = ''
    finished = false
  }
  createEffect(() => {
    cell.row()
    const row = cell.current()
    if (finished ? row.text !== known || row.state === 'live' : !row.text.startsWith(known)) restart()
    const more = row.text.slice(known.length)
    final = row.state !== 'live'
    // A row that is still growing is marked, so that a long code block does not fold under the reader.
    if (!final) {
      grew = true
      into.classList.add('tx-watched')
    }
    if (more !== '') add(more)
    end()
  })
  onCleanup(cell.onGrow((text, length) => {
    // What was read with the whole row comes here once more.
    if (known.length + text.length === length) add(text)
    else if (known.length < length) add(cell.current().text.slice(known.length))
  }))
  onCleanup(() => {
    stopSlices?.()
    clearTimeout(resting)
  })
}
