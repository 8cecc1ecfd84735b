import type { OpenChat } from '../sync/port'

/**
 * What the page gives the transcript and what it gets back. `<TranscriptView {...props} />` (src/transcript/view.tsx) fills the space it
 * is put in: a column of the question line and the scroller. The composer's dock may lie over its last 3 rem (design/LANGUAGE.md §3).
 */
export interface TranscriptProps {
  /** Give another one to show another chat; the view starts anew at the end of it. */
  chat: OpenChat
  /** False while the server cannot be reached: an unfinished answer then says that the agent goes on, and *Try again* is off. */
  online: boolean
  actions: TranscriptActions
  /** The one announcer of the page: start, end, failure. `polite` waits for the reader, `assertive` does not. */
  announce: (words: string, urgency: 'polite' | 'assertive') => void
  /** Server's ms, for running times; the page knows the difference of the clocks. Defaults to `Date.now`. */
  now?: () => number
  /** Called once with what the page may ask of the view, before its first paint. */
  ready?: (handle: TranscriptHandle) => void
  /** The question whose answer is being read while it is scrolled off, or null. Phones show it in the second line of the header. */
  onAsked?: (asked: Asked | null) => void
}

export interface TranscriptActions {
  /** *Try again*: the next run of this turn. A rejection is shown where the button was pressed. */
  retry: (turn: string) => Promise<void>
  /** *Go on from here*: a new turn with these words. A rejection is shown where the button was pressed. */
  goOn: (text: string) => Promise<void>
  /** Sends words in the place of a message of a person; everything from there on leaves. `files`: ids of those that stay with it. A rejection is shown where they were written. */
  edit: (change: { row: string; text: string; files: readonly string[] }) => Promise<void>
  /** A half-written change of a message, on this device; empty: none. */
  keptEdit: { load: () => Promise<string>; keep: (change: string) => void }
  /** *Choose another model*. */
  chooseModel: () => void
  /** Where connections and keys are. */
  /** `agent`: its own page; else the models. */
  openSettings: (about?: 'agent') => void
  newChat: () => void
  /** Words that were given back go below what stands in the message box. */
  putBack: (text: string) => void
  /** Words that were put back are with the agent again: they leave the message box, if nothing but them stands in it. */
  takeBack: (text: string) => void
  /** Puts text on the clipboard; resolves to false when the browser refused. */
  copy: (text: string) => Promise<boolean>
}

export interface Asked {
  turn: string
  /** First line of the question. */
  text: string
}

export interface TranscriptHandle {
  /** Goes to the end and follows it from then on. The composer calls it after a send. */
  toEnd: () => void
  /** Scrolls to a question and puts the focus on it. */
  toQuestion: (turn: string) => void
  /** Moves by one question (keys `[` and `]`). */
  step: (by: 1 | -1) => void
  /** Opens the steps of a turn and scrolls to a row of it (an approval's row, for instance). */
  toRow: (row: string) => void
}
