import { coldStarts } from './cold'
import { listing } from './listing'
import type { Result } from './main'
import { streaming } from './streaming'

/** What a person waits for in a real browser with the built product: a known chat, a streaming answer; and what the lists behind it cost. */
export async function bench(): Promise<Result[]> {
  return [...(await coldStarts()), ...(await streaming()), ...(await listing())]
}
