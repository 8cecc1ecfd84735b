import { Refusal } from '../../../../server/contract/problems'

/** The code of a refusal; `none` when it was taken. Anything else that is thrown is thrown on. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    if (error instanceof Refusal) return error.problem.code
    throw error
  }
}
