import { createEffect, createMemo, on, Show } from 'solid-js'
import { t } from '../../i18n/on-demand'
import { clock, duration, running } from '../../i18n/format'
import { now } from '../ui/now'

/** From here on the time that is left is shown, and from here on it is red; ms. */
export const SHOWN_MS = 120_000
export const LATE_MS = 10_000
/** Once it is said aloud, ms before the end. */
const SPOKEN_MS = 30_000

/** Time left to answer: calm, from two minutes on, red at the end. Its width does not shake. `deadline` in server's ms. */
export function TimeLeft(props: { deadline: number | undefined; skew: number; announce: (text: string) => void }) {
  const second = now.second()
  const left = createMemo(() => (props.deadline === undefined ? Infinity : props.deadline - second() - props.skew))
  const near = createMemo(() => left() <= SPOKEN_MS)
  createEffect(on(near, (is, was) => {
    if (is && was === false && left() > 0) props.announce(t('ask.left.spoken', { n: Math.round(left() / 1000) }))
  }))
  return (
    <Show when={left() <= SHOWN_MS}>
      <span class="meta num left" classList={{ bad: left() <= LATE_MS }} role="timer" aria-live="off">
        {left() <= 0 ? t('ask.left.out') : t('ask.left', { time: left() <= 60_000 ? duration(Math.ceil(left() / 1000) * 1000) : running(left()) })}
      </span>
    </Show>
  )
}

/** Until when it can be answered, and what happens then; a term of the list of facts. */
export function Until(props: { deadline: number; skew: number; then: string }) {
  return (
    <>
      <dt>{t('ask.until')}</dt>
      <dd>
        <span class="num">{clock(props.deadline - props.skew, Date.now())}</span>. {props.then}
      </dd>
    </>
  )
}
