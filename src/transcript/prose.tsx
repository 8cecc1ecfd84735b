import { onMount } from 'solid-js'
import type { RowCell } from './model'
import { createProse } from './draw-prose'
import { useSurroundings } from './surroundings'
import { markdownWords } from './words'

/** Text of a row, drawn as Markdown while it grows and after. */
export function Prose(props: { cell: RowCell; class: string }) {
  const { slices, onCode, newest } = useSurroundings()
  let into!: HTMLDivElement
  onMount(() => createProse(into, props.cell, { document, words: markdownWords, onCode }, slices, props.cell.current().turn === newest()))
  return <div ref={into} class={props.class} data-row={props.cell.id} />
}
