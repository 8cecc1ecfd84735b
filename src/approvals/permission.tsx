import { createEffect, createSignal, For, on, Show, type JSX } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { Choice } from '../../server/contract/approvals'
import type { OpenApproval } from '../sync/reactive'
import { Button } from '../ui/button'
import { IconButton } from '../ui/icon-button'
import { Menu, type MenuItem } from '../ui/menu'
import { argumentsOf, diffLines, markedPieces } from './command'
import { Until } from './left'
import type { Phase } from './port'
import { consequenceOf, labelOf, leadingLabelOf } from './words'

export interface PermissionProps {
  id: string
  request: OpenApproval
  phase: Phase
  /** No answer can be given now. */
  off: boolean
  phone: boolean
  /** Asked next: shown without answers. */
  waits: boolean
  /** Server's ms minus this device's. */
  skew: number
  choose: (choice: Choice) => void
  /** A step for ever is being confirmed, or no more: its presses are guarded anew, and Enter is not for it. */
  onConfirm: (choice: Choice | null) => void
  onAllowAll: () => void
  firstRef: (element: HTMLButtonElement) => void
  /** Why an answer was not taken, or cannot be given now. */
  state: (failed: string | null) => JSX.Element
}

/** What will happen, the exact command or change, why it is asked and where; then exactly the choices that the agent offers. */
export function Permission(props: PermissionProps) {
  const [menu, setMenu] = createSignal(false)
  const [sure, setSure] = createSignal<Choice | null>(null)
  let more!: HTMLButtonElement
  let back: HTMLButtonElement | undefined
  let meaning: HTMLDivElement | undefined
  const of = (...kinds: Choice['kind'][]) => props.request.choices.filter((choice) => kinds.includes(choice.kind))
  const once = () => of('once')
  const session = () => of('session')
  const deny = () => of('deny')
  const lasting = () => of('always', 'deny_always')
  const sending = (choice: Choice) => props.phase.at === 'sending' && props.phase.choice === choice.id
  const confirm = (choice: Choice | null) => {
    setSure(choice)
    props.onConfirm(choice)
    if (!choice) return
    queueMicrotask(() => {
      back?.focus({ preventScroll: true })
      meaning?.scrollIntoView({ block: 'nearest' })
    })
  }
  const press = (choice: Choice) => (choice.kind === 'always' || choice.kind === 'deny_always' ? confirm(choice) : props.choose(choice))
  // Another request, or one that is asked again, begins with its first step.
  createEffect(on(() => props.request.id, () => confirm(null), { defer: true }))

  const items = (): MenuItem[] => [
    ...lasting().map((choice) => ({ label: leadingLabelOf(choice), run: () => press(choice) })),
    { label: t('ask.allowAll'), line: lasting().length > 0, run: () => props.onAllowAll() },
  ]
  const Choices = (own: { of: Choice[]; kind?: 'primary' | 'outline' | 'quiet'; first?: boolean }) => (
    <For each={own.of}>
      {(choice, index) => (
        <Button
          kind={own.first && index() > 0 ? 'outline' : own.kind}
          ref={(element) => {
            if (own.first && index() === 0) props.firstRef(element)
          }}
          disabled={props.off}
          busy={sending(choice)}
          onPress={() => press(choice)}
        >
          <span dir="auto">{leadingLabelOf(choice)}</span>
          <Show when={own.first && index() === 0 && !props.phone && !sending(choice)}>
            <kbd aria-hidden="true">Enter</kbd>
          </Show>
        </Button>
      )}
    </For>
  )

  return (
    <>
      <div class="in">
        <p class="why" id={`${props.id}-w`} dir="auto">
          {props.request.action}
        </p>
        <Show when={props.request.command}>
          {(command) => (
            <pre class="cmd" tabindex="0" role="group" aria-label={t('ask.command')}>
              <For each={markedPieces(argumentsOf(command()), command(), props.request.trigger)}>
                {(piece) => (piece.blank ? <>{piece.text}</> : <span>{piece.marked ? <u>{piece.text}</u> : piece.text}</span>)}
              </For>
            </pre>
          )}
        </Show>
        <Show when={props.request.diff}>
          {(diff) => (
            <pre class="dif" tabindex="0" role="group" aria-label={t('ask.changes')}>
              <For each={diffLines(diff())}>{(line) => <span class={line.kind}>{line.text}</span>}</For>
            </pre>
          )}
        </Show>
        <Facts request={props.request} session={session()} skew={props.skew} />
        <Show when={sure()} keyed>
          {(choice) => (
            <div ref={(element) => (meaning = element)} class="sure" role="group" aria-labelledby={`${props.id}-s`}>
              <b id={`${props.id}-s`}>{choice.label?.trim() || t(`ask.sure.${choice.kind as 'always' | 'deny_always'}`)}</b>
              <p dir="auto">{consequenceOf(choice)}</p>
            </div>
          )}
        </Show>
        {props.state(props.phase.at === 'failed' ? props.phase.reason : null)}
      </div>
      <Show when={!props.waits}>
        <Show
          when={sure()}
          keyed
          fallback={
            <>
              <div class="acts main">
                <Choices of={once()} kind="primary" first />
                <Show when={!props.phone}>
                  <Choices of={session()} />
                </Show>
                <Choices of={deny()} />
                <Show when={!props.phone}>
                  <span class="grow" />
                  <IconButton ref={(element) => (more = element)} icon="ellipsis" small name={t('ask.more')} popup="menu" expanded={menu()} onPress={() => setMenu(!menu())} />
                  <Show when={menu()}>
                    <Menu anchor={more} label={t('ask.more')} align="end" onClose={() => setMenu(false)} items={items()} />
                  </Show>
                </Show>
              </div>
              <Show when={props.phone && session().length + lasting().length > 0}>
                <div class="acts rest">
                  <Choices of={[...session(), ...lasting()]} kind="quiet" />
                </div>
              </Show>
            </>
          }
        >
          {(choice) => (
            <div class="acts main">
              <Button kind={choice.kind === 'deny_always' ? 'danger' : 'primary'} disabled={props.off} busy={sending(choice)} describedby={`${props.id}-s`} onPress={() => props.choose(choice)}>
                <span dir="auto">{labelOf(choice)}</span>
              </Button>
              <Button ref={(element) => (back = element)} disabled={props.phase.at === 'sending'} onPress={() => confirm(null)}>
                {t('ask.back')}
              </Button>
            </div>
          )}
        </Show>
      </Show>
    </>
  )
}

function Facts(props: { request: OpenApproval; session: Choice[]; skew: number }) {
  const means = () => props.session.filter((choice) => choice.consequence?.trim())
  return (
    <Show when={props.request.reason || props.request.cwd || props.request.risk === 'high' || props.request.deadline !== undefined || means().length > 0}>
      <dl>
        <Show when={props.request.reason}>
          <dt>{t('ask.because')}</dt>
          <dd dir="auto">{props.request.reason}</dd>
        </Show>
        <Show when={props.request.risk === 'high'}>
          <dt>{t('ask.risk')}</dt>
          <dd>{t('ask.risk.high')}</dd>
        </Show>
        <Show when={props.request.cwd}>
          <dt>{t('ask.in')}</dt>
          <dd>
            <span class="code">{props.request.cwd}</span>
          </dd>
        </Show>
        <Show when={props.request.deadline}>{(deadline) => <Until deadline={deadline()} skew={props.skew} then={t('ask.then.approval')} />}</Show>
        <For each={means()}>
          {(choice) => (
            <>
              <dt dir="auto">{labelOf(choice)}</dt>
              <dd dir="auto">{choice.consequence}</dd>
            </>
          )}
        </For>
      </dl>
    </Show>
  )
}
