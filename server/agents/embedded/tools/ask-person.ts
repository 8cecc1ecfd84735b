import { schema, shown, textArg, ToolFault, type Tool } from './tool'

/** UTF-16 units of a question and of a choice, and how many choices. */
const MOST_QUESTION = 2000
const MOST_CHOICE = 200
const MOST_CHOICES = 8

/** Asks the person something that only they can decide. Its question is its row. */
export const askPerson: Tool = {
  name: 'ask_person',
  verb: 'other',
  asks: true,
  description: 'Ask the person one question when only they can decide how to go on. Offer up to eight short choices where you can; they may also answer in their own words, or not at all. Not for permission: tools that need it ask by themselves.',
  parameters: schema({ question: { type: 'string', description: 'The question, in the language of the person.' }, choices: { type: 'array', items: { type: 'string' }, description: 'Offered answers.' } }, ['question']),
  target: (args) => shown(args, 'question'),
  prepare: async (args) => {
    const question = textArg(args, 'question').trim()
    if (question === '') throw new ToolFault('The question is empty.')
    if (question.length > MOST_QUESTION) throw new ToolFault(`The question is longer than ${MOST_QUESTION} characters.`)
    const given = args.choices ?? []
    if (!Array.isArray(given) || !given.every((choice) => typeof choice === 'string')) throw new ToolFault('The argument "choices" must be a list of texts.')
    const choices = [...new Set(given.map((choice: string) => choice.trim()).filter((choice) => choice !== ''))]
    if (choices.length > MOST_CHOICES || choices.some((choice) => choice.length > MOST_CHOICE)) throw new ToolFault(`Offer at most ${MOST_CHOICES} choices of at most ${MOST_CHOICE} characters.`)
    return { clarify: { question, choices, free: true } }
  },
}

/** What the model is told of what the person said; null: nobody answered in time. */
export function answerOf(words: string | null): string {
  return words === null ? 'Nobody answered in time. Use your judgement, and say what you assumed.' : `The person answers: ${words}`
}
