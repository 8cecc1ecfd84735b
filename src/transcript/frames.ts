import type { NextFrame } from './model'

/** With the next frame; at the latest after 250 ms, so that a page that is not painted still takes in what comes. */
export const nextFrame: NextFrame = (run) => {
  let done = false
  const once = () => {
    if (done) return
    done = true
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    run()
  }
  const frame = requestAnimationFrame(once)
  const timer = setTimeout(once, 250)
  return () => {
    done = true
    cancelAnimationFrame(frame)
    clearTimeout(timer)
  }
}

/** When the page has nothing better to do; returns what calls it off. */
export function whenIdle(run: () => void): () => void {
  if (typeof requestIdleCallback === 'function') {
    const id = requestIdleCallback(run, { timeout: 1000 })
    return () => cancelIdleCallback(id)
  }
  const id = setTimeout(run, 60)
  return () => clearTimeout(id)
}

/**
 * Work in slices: each frame runs what is waiting until its time is spent, newest first, because a chat opens at its end. A piece of work
 * does one small step per call and says whether more is left. One queue for all, so that ten growing answers together stay below the limit.
 */
export interface Slices {
  add: (step: () => boolean) => () => void
}

export function makeSlices(frame: NextFrame, clock: () => number, budget = 10): Slices {
  const waiting = new Set<() => boolean>()
  let scheduled = false
  const run = () => {
    scheduled = false
    const until = clock() + budget
    for (const step of [...waiting].reverse()) {
      let more = true
      while (more && clock() < until) more = step()
      if (!more) waiting.delete(step)
      if (clock() >= until) break
    }
    schedule()
  }
  const schedule = () => {
    if (scheduled || waiting.size === 0) return
    scheduled = true
    frame(run)
  }
  return {
    add: (step) => {
      waiting.add(step)
      schedule()
      return () => void waiting.delete(step)
    },
  }
}
