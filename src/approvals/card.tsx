import { createEffect, createMemo, createSignal, createUniqueId, For, on, onCleanup, onMount, Show } from 'solid-js'
import { t } from '../../i18n'
import type { OpenApproval } from '../sync/reactive'
import { ProblemError } from '../backend/port'
import { reasonOf } from '../shell/reason'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import { argumentsOf, diffLines } from './command'
import { makeGuard } from './guard'

export interface CardProps {
  /** Oldest first; the first is shown. */
  requests: OpenApproval[]
  online: boolean
  phone: boolean
  /** Resolves when the decision is committed. */
  decide: (request: OpenApproval, kind: 'once' | 'deny') => Promise<void>
  announce: (text: string) => void
  /** Somebody writes where the card would stand: it comes folded. */
  quiet?: boolean
  /** The last request is gone, and the card with it. */
  onGone?: () => void
  /** Folded to one line, or open. */
  onFold?: (folded: boolean) => void
  now: () => number
}

type Phase = { at: 'asking' } | { at: 'sending' } | { at: 'failed'; reason: string } | { at: 'gone' }

/**
 * The permission that a run waits for, docked above the message box (a sheet in its place on phones). Not modal: everything can be read
 * while it stands. Focus goes to *Allow now* unless a text field has it; Enter acts only outside text; Esc folds and never answers.
 */
export function ApprovalCard(props: CardProps) {
  const id = createUniqueId()
  // The clock is asked at each press; nothing follows it.
  // eslint-disable-next-line solid/reactivity
  const guard = makeGuard(() => props.now())
  const [folded, setFolded] = createSignal(false)
  const [phases, setPhases] = createSignal<Record<string, Phase>>({})
  let allow: HTMLButtonElement | undefined
  let open: HTMLButtonElement | undefined

  const request = () => props.requests[0]
  const phase = createMemo<Phase>(() => phases()[request()?.id ?? ''] ?? { at: 'asking' })
  const off = () => !props.online || phase().at === 'sending' || phase().at === 'gone'

  createEffect(
    on(
      () => request()?.id,
      (now, before) => {
        if (!now) {
          if (before && phases()[before]?.at !== 'sending') props.announce(t('ask.withdrawn'))
          if (before) props.onGone?.()
          return
        }
        const quiet = props.quiet ?? false
        setFolded(quiet)
        props.onFold?.(quiet)
        guard.shown()
        props.announce(t('ask.announce', { action: request()!.action }))
        if (!inText(document.activeElement)) queueMicrotask(() => allow?.focus({ preventScroll: true }))
      },
    ),
  )

  const answer = async (kind: 'once' | 'deny') => {
    const asked = request()
    if (!asked || off() || !guard.armed()) return
    const to = (next: Phase) => setPhases((all) => ({ ...all, [asked.id]: next }))
    to({ at: 'sending' })
    try {
      await props.decide(asked, kind)
      props.announce(kind === 'once' ? t('ask.allowed') : t('ask.refused'))
    } catch (error) {
      const code = error instanceof ProblemError ? error.code : undefined
      if (code === 'question_gone' || code === 'approval_not_found') to({ at: 'gone' })
      else to({ at: 'failed', reason: code === 'session_profile_mismatch' ? t('ask.profile') : t('ask.failed', { reason: reasonOf(error) }) })
    }
  }
  const fold = (value: boolean) => {
    setFolded(value)
    props.onFold?.(value)
    if (!value) guard.shown()
    // Who writes goes on writing.
    if (!inText(document.activeElement)) queueMicrotask(() => (value ? open : allow)?.focus({ preventScroll: true }))
  }

  onMount(() => {
    const onKey = (key: KeyboardEvent) => {
      if (!request() || folded() || document.querySelector('dialog[open], .pop')) return
      if (key.key === 'Backspace' && (key.ctrlKey || key.metaKey) && !hasText(key.target)) {
        key.preventDefault()
        void answer('deny')
      } else if (key.key === 'Enter' && !key.ctrlKey && !key.metaKey && !key.shiftKey && key.target === document.body) {
        key.preventDefault()
        void answer('once')
      }
    }
    // Before anybody else: the Esc that folds a card is not half of the two that stop a run.
    const onEscape = (key: KeyboardEvent) => {
      if (key.key !== 'Escape' || key.isComposing || !request() || folded() || key.target instanceof HTMLInputElement || document.querySelector('dialog[open], .pop')) return
      key.preventDefault()
      key.stopPropagation()
      fold(true)
    }
    addEventListener('keydown', onKey)
    addEventListener('keydown', onEscape, true)
    onCleanup(() => {
      removeEventListener('keydown', onKey)
      removeEventListener('keydown', onEscape, true)
    })
  })

  return (
    <Show when={request()}>
      {(asked) => (
        <section
          class="ask"
          classList={{ fold: folded() }}
          role="alertdialog"
          aria-modal="false"
          aria-labelledby={`${id}-t`}
          aria-describedby={`${id}-w`}
        >
          <div class="top">
            <Icon name="hand" />
            <b id={`${id}-t`}>{t('ask.title')}</b>
            <Show when={folded()}>
              <span class="what cut" id={`${id}-w`}>
                {asked().action}
              </span>
            </Show>
            <Show when={props.requests.length > 1}>
              <span class="meta">{t('ask.count', { at: 1, n: props.requests.length })}</span>
            </Show>
            <span class="grow" />
            <Show when={folded()} fallback={<IconButton icon="chevron-down" small name={t('ask.fold')} keys="Esc" onPress={() => fold(true)} />}>
              <Button ref={(element) => (open = element)} onPress={() => fold(false)}>
                {t('ask.open')}
              </Button>
            </Show>
          </div>
          <Show when={!folded()}>
            <div class="in">
              <p class="why" id={`${id}-w`} dir="auto">
                {asked().action}
              </p>
              <Show when={asked().command}>
                {(command) => (
                  <pre class="cmd" tabindex="0" aria-label={t('ask.command')}>
                    <For each={argumentsOf(command())}>{(piece) => (/\s/.test(piece[0]!) || piece.includes('\n') ? <>{piece}</> : <span>{piece}</span>)}</For>
                  </pre>
                )}
              </Show>
              <Show when={asked().diff}>
                {(diff) => (
                  <pre class="dif" tabindex="0" aria-label={t('ask.changes')}>
                    <For each={diffLines(diff())}>{(line) => <span class={line.kind}>{line.text}</span>}</For>
                  </pre>
                )}
              </Show>
              <Show when={asked().reason || asked().cwd}>
                <dl>
                  <Show when={asked().reason}>
                    <dt>{t('ask.because')}</dt>
                    <dd>{asked().reason}</dd>
                  </Show>
                  <Show when={asked().cwd}>
                    <dt>{t('ask.in')}</dt>
                    <dd>
                      <span class="code">{asked().cwd}</span>
                    </dd>
                  </Show>
                </dl>
              </Show>
              <Show when={phase().at === 'failed' && phase()}>
                {(failed) => (
                  <p class="fail" role="alert">
                    <Icon name="circle-alert" size="s" />
                    {(failed() as { reason: string }).reason}
                  </p>
                )}
              </Show>
              <Show when={phase().at === 'gone'} fallback={<Show when={!props.online}><p class="m2">{t('ask.offline')}</p></Show>}>
                <p class="m2" role="status">
                  {t('ask.gone')}
                </p>
              </Show>
            </div>
            <div class="acts">
              <Button kind="primary" ref={(element) => (allow = element)} disabled={off()} busy={phase().at === 'sending'} onPress={() => void answer('once')}>
                {t('ask.allow')}
                <Show when={!props.phone && phase().at !== 'sending'}>
                  <kbd aria-hidden="true">Enter</kbd>
                </Show>
              </Button>
              <Button disabled={off()} onPress={() => void answer('deny')}>
                {t('ask.refuse')}
              </Button>
            </div>
          </Show>
        </section>
      )}
    </Show>
  )
}

function inText(element: Element | null): boolean {
  return element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement || (element instanceof HTMLElement && element.isContentEditable)
}

/** Ctrl Backspace deletes a word where there is one. */
function hasText(target: EventTarget | null): boolean {
  return (target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement) && target.value !== ''
}
