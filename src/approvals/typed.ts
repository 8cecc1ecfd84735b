import { createSignal, type Accessor } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { OpenQuestion } from '../sync/reactive'
import type { QuestionsProps, Typed } from './port'

/**
 * Where the words of an answer belong once its question is not open any more (spec/settlement.md §7.6): into the field of a newer question
 * that takes words, else into the message box. They are never sent by themselves, and never lost.
 */
export function placeOf(typed: Typed, open: readonly OpenQuestion[]): { to: 'stay' } | { to: 'question'; question: string } | { to: 'box' } | { to: 'nowhere' } {
  if (open.some((one) => one.asked.id === typed.question)) return { to: 'stay' }
  if (typed.text.trim() === '') return { to: 'nowhere' }
  const newer = open.find((one) => one.kind === 'clarify' && takesWords(one.asked))
  return newer ? { to: 'question', question: newer.asked.id } : { to: 'box' }
}

/** A question without choices can only be answered in words, whatever it says. */
export function takesWords(asked: { free: boolean; choices: readonly string[] }): boolean {
  return asked.free || asked.choices.length === 0
}

export interface TypedWords {
  /** What stands in the field of a question. */
  of: (question: string) => string
  note: (question: string, text: string) => void
  /** The answer was taken: nothing is kept of it. */
  taken: (question: string) => void
  /** The same question is asked anew, with another id. */
  follow: (from: string, to: string) => void
  /** Finds a place for words whose question is gone. */
  settle: () => void
}

/**
 * Words typed as an answer, kept on this device while they are typed. `sent`: that question's answer is on its way, or was taken. `placed`: words
 * came to stand in the field of this question without being typed there.
 */
export function createTyped(props: Pick<QuestionsProps, 'questions' | 'kept' | 'rescue' | 'tell'>, sent: (question: string) => boolean, placed: (question: string) => void): TypedWords {
  const [typed, setTyped]: [Accessor<Typed | null>, (typed: Typed | null) => void] = createSignal<Typed | null>(null)
  const put = (value: Typed | null) => {
    setTyped(value)
    props.kept.keep(value && value.text.trim() !== '' ? value : null)
  }
  const settle = () => {
    const words = typed()
    if (!words || sent(words.question)) return
    const place = placeOf(words, props.questions)
    if (place.to === 'stay') return
    if (place.to === 'question') {
      put({ question: place.question, text: words.text })
      props.tell(t('clarify.carried'))
      placed(place.question)
      return
    }
    put(null)
    if (place.to === 'nowhere') return
    props.rescue(words.text)
    props.tell(t('clarify.rescued'))
  }
  void props.kept.load().then((kept) => {
    // Typed while it was being read: that is newer.
    if (!kept || typed()) return
    setTyped(kept)
    placed(kept.question)
    settle()
  })
  return {
    of: (question) => (typed()?.question === question ? typed()!.text : ''),
    note: (question, text) => put({ question, text }),
    taken: (question) => {
      if (typed()?.question === question) put(null)
    },
    follow: (from, to) => {
      if (typed()?.question === from) put({ question: to, text: typed()!.text })
    },
    settle,
  }
}
