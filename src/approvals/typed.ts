import type { OpenQuestion } from '../sync/reactive'
import type { Typed } from './port'

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
