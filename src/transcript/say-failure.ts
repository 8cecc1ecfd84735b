import type { RunProblemCode } from '../../server/contract/problems'

/** Says aloud that a turn has failed, and of what; its words come with the card that shows it. */
export async function sayFailure(problem: RunProblemCode, announce: (words: string, urgency: 'assertive') => void): Promise<void> {
  const { failureOf } = await import('./late')
  announce(failureOf(problem), 'assertive')
}
