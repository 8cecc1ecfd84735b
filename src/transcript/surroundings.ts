import { createContext, useContext, type Accessor } from 'solid-js'
import type { Slices } from './frames'
import type { TranscriptActions } from './port'

/** What every part of a transcript needs; one per view. */
export interface Surroundings {
  /** The chat that is shown. */
  session: string
  online: Accessor<boolean>
  actions: TranscriptActions
  announce: (words: string, urgency: 'polite' | 'assertive') => void
  /** Server's ms, moved once a second while something runs. */
  now: () => Accessor<number>
  slices: Slices
  /** Highlights a complete code block, when it comes in sight. */
  onCode: (code: HTMLElement, language: string) => void
  /** What was opened or folded by hand, by row or turn; outlives mounting. */
  choices: Map<string, boolean>
  /** True while what is read stands inside the element: it must not fold. */
  readsIn: (element: Element) => boolean
  /** The newest turn; *Try again* is for it alone. */
  newest: Accessor<string | undefined>
}

export const SurroundingsContext = createContext<Surroundings>()

export function useSurroundings(): Surroundings {
  const value = useContext(SurroundingsContext)
  if (!value) throw new Error('A part of the transcript stands outside of it')
  return value
}
