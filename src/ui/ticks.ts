/** One step of work as the trace draws it; `ms` is absent while it runs. */
export interface TraceStep {
  kind: 'thought' | 'tool' | 'question'
  state: 'live' | 'done' | 'failed' | 'need' | 'lost'
  ms?: number
}

/** At most this many ticks stand in a trace; older ones are merged into the first. */
export const TRACE_LIMIT = 32

/** Width of a tick in px: `clamp(3, 3 + 4·log2(1 + seconds), 28)`. */
export function tickWidth(ms: number): number {
  const width = 3 + 4 * Math.log2(1 + Math.max(0, ms) / 1000)
  return Math.round(Math.min(28, Math.max(3, width)) * 10) / 10
}

/** The newest steps, the older ones merged into one tick of their summed duration; a merged tick is failed when one of them failed. */
export function mergeTicks<T extends TraceStep>(steps: readonly T[], limit = TRACE_LIMIT): TraceStep[] {
  if (steps.length <= limit) return [...steps]
  const old = steps.slice(0, steps.length - limit + 1)
  const merged: TraceStep = {
    kind: old.every((step) => step.kind === 'thought') ? 'thought' : 'tool',
    state: old.some((step) => step.state === 'failed') ? 'failed' : 'done',
    ms: old.reduce((sum, step) => sum + (step.ms ?? 0), 0),
  }
  return [merged, ...steps.slice(steps.length - limit + 1)]
}
