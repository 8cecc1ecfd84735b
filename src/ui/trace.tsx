import { createEffect, Index } from 'solid-js'
import { t } from '../../i18n'
import { mergeTicks, tickWidth, type TraceStep } from './ticks'

/**
 * The trace (design/LANGUAGE.md §2): a row of ticks, one per step, in order. Width is duration, height is kind, colour is state.
 * It is an image with a name; words beside it carry the same facts. `ms` of a running step is `elapsed`, where given.
 */
export function Trace(props: { steps: readonly TraceStep[]; label?: string; elapsed?: number }) {
  const shown = () => mergeTicks(props.steps)
  return (
    <span class="trace" role="img" aria-label={props.label ?? traceLabel(props.steps)}>
      <Index each={shown()}>
        {(step) => {
          let tick!: HTMLElement
          // A style attribute would break the content policy; a property set by script does not.
          createEffect(() => tick.style.setProperty('--d', String(tickWidth(step().ms ?? props.elapsed ?? 0))))
          return <i ref={tick} class={tickClass(step())} />
        }}
      </Index>
    </span>
  )
}

function tickClass(step: TraceStep): string {
  const kind = step.kind === 'thought' ? 't' : ''
  const state = step.state === 'failed' ? 'x' : step.state === 'need' ? 'n' : step.state === 'live' ? 'r' : step.state === 'lost' ? 'q' : ''
  return `${kind} ${state}`.trim()
}

/** "9 steps", "9 steps, 1 failed", "4 steps, waiting for you". */
export function traceLabel(steps: readonly TraceStep[]): string {
  const n = t('trace.steps', { n: steps.length })
  if (steps.some((step) => step.state === 'need')) return t('trace.waiting', { steps: n })
  const failed = steps.filter((step) => step.state === 'failed').length
  return failed ? t('trace.failed', { steps: n, failed }) : n
}
