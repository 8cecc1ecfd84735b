/** The transcript: questions, steps, answers, how a turn ended. */
export default {
  'turn.label': 'Question {n}',
  'turn.working': 'Working for {time}',
  'turn.worked': 'Worked for {time}',
} as const
