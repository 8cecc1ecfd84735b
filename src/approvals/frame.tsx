import { Show, type JSX } from 'solid-js'
import { t } from '../../i18n/on-demand'
import { Button } from '../ui/button'
import { Icon, type IconName } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import { TimeLeft } from './left'

export interface FrameProps {
  id: string
  icon: IconName
  title: string
  role: 'alertdialog' | 'dialog'
  /** What is asked, in one line; it stands in the head while folded. */
  line: string
  folded: boolean
  /** Which of how many, from 1. */
  at: number
  n: number
  deadline: number | undefined
  skew: number
  announce: (text: string) => void
  onFold: (folded: boolean) => void
  onStep: (by: 1 | -1) => void
  openRef: (element: HTMLButtonElement) => void
  ref: (element: HTMLElement) => void
  children: JSX.Element
}

/** What all questions have in common: the amber head with title, place among several, time left and fold. Not modal: everything can be read while it stands. */
export function Frame(props: FrameProps) {
  return (
    <section
      ref={(element) => props.ref(element)}
      class="ask"
      classList={{ fold: props.folded }}
      role={props.role}
      aria-modal="false"
      aria-labelledby={`${props.id}-t`}
      aria-describedby={`${props.id}-w`}
      tabindex="-1"
    >
      <div class="top">
        <Icon name={props.icon} />
        <b id={`${props.id}-t`}>{props.title}</b>
        <Show when={props.folded}>
          <span class="what cut" id={`${props.id}-w`} dir="auto">
            {props.line}
          </span>
        </Show>
        <Show when={props.n > 1}>
          <span class="meta">{t('ask.count', { at: props.at, n: props.n })}</span>
        </Show>
        <span class="grow" />
        <TimeLeft deadline={props.deadline} skew={props.skew} announce={props.announce} />
        <Show
          when={props.folded}
          fallback={
            <>
              <Show when={props.n > 1}>
                <span class="turn">
                  <IconButton icon="chevron-left" small name={t('ask.previous')} onPress={() => props.onStep(-1)} />
                  <IconButton icon="chevron-right" small name={t('ask.next')} onPress={() => props.onStep(1)} />
                </span>
              </Show>
              <IconButton icon="chevron-down" small name={t('ask.fold')} keys="Esc" onPress={() => props.onFold(true)} />
            </>
          }
        >
          <Button ref={(element) => props.openRef(element)} onPress={() => props.onFold(false)}>
            {t('ask.open')}
          </Button>
        </Show>
      </div>
      <Show when={!props.folded}>{props.children}</Show>
    </section>
  )
}

/** Why an answer was not taken, or cannot be given now. */
export function State(props: { failed: string | null; gone: boolean; online: boolean; stopping: boolean }) {
  return (
    <>
      <Show when={props.failed}>
        {(reason) => (
          <p class="fail" role="alert">
            <Icon name="circle-alert" size="s" />
            <span dir="auto">{reason()}</span>
          </p>
        )}
      </Show>
      <Show when={props.gone} fallback={<Show when={!props.online || props.stopping}><p class="m2">{props.online ? t('ask.stopping') : t('ask.offline')}</p></Show>}>
        <p class="m2" role="status">
          {t('ask.gone')}
        </p>
      </Show>
    </>
  )
}
