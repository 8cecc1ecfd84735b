import { createEffect, createSignal, createUniqueId, on, onCleanup, onMount, Show, type JSX } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { OpenSecret } from '../sync/reactive'
import { Button } from '../ui/button'
import { Until } from './left'
import type { Phase } from './port'

export interface SecretProps {
  id: string
  secret: OpenSecret
  phase: Phase
  off: boolean
  skew: number
  /** True: it was taken up to be sent. */
  give: (value: string | null) => boolean
  firstRef: (element: HTMLElement) => void
  /** Somebody is in the field. */
  onTyping: () => void
  /** The field goes away while somebody is in it. */
  onLeft: () => void
  state: (failed: string | null) => JSX.Element
}

/**
 * A field for a secret. **Its value is in the field alone**: in no signal, draft, store or trace. It is emptied as soon as it was handed on,
 * when the page hides, and when the question folds or goes (spec/log.md §3). The field has no form and no name, and says that it holds a
 * one-time code, so that no browser offers to keep it.
 */
export function SecretQuestion(props: SecretProps) {
  const label = createUniqueId()
  const [filled, setFilled] = createSignal(false)
  const [shown, setShown] = createSignal(false)
  let field!: HTMLInputElement
  const empty = () => {
    field.value = ''
    setFilled(false)
    setShown(false)
  }
  const sending = (what: 'give' | 'refuse') => props.phase.at === 'sending' && props.phase.choice === what
  const blocked = () => props.off || !filled()
  const submit = () => {
    if (field.value !== '' && props.give(field.value)) empty()
  }
  const hide = () => {
    if (document.visibilityState === 'hidden') empty()
  }
  onMount(() => {
    addEventListener('pagehide', empty)
    document.addEventListener('visibilitychange', hide)
    onCleanup(() => {
      if (document.activeElement === field) props.onLeft()
      empty()
      removeEventListener('pagehide', empty)
      document.removeEventListener('visibilitychange', hide)
    })
  })
  createEffect(on(() => props.phase.at === 'gone', (gone) => gone && empty(), { defer: true }))
  return (
    <>
      <div class="in">
        <p class="why" id={`${props.id}-w`} dir="auto">
          {props.secret.prompt || t(`secret.title.${props.secret.kind}`)}
        </p>
        <div>
          <label class="lab" for={label}>
            {t(`secret.label.${props.secret.kind}`)}
          </label>
          <div class="row">
            <div class="f l grow">
              <input
                ref={(element) => {
                  field = element
                  props.firstRef(element)
                }}
                id={label}
                type={shown() ? 'text' : 'password'}
                autocomplete="one-time-code"
                data-1p-ignore="true"
                data-lpignore="true"
                data-bwignore="true"
                spellcheck={false}
                autocapitalize="off"
                dir="ltr"
                aria-describedby={`${props.id}-k`}
                onFocusIn={() => props.onTyping()}
                onInput={() => {
                  props.onTyping()
                  setFilled(field.value !== '')
                }}
                onKeyDown={(key) => {
                  if (key.key !== 'Enter' || key.isComposing) return
                  key.preventDefault()
                  submit()
                }}
              />
            </div>
            <button type="button" class="b out l" aria-pressed={shown()} onClick={() => setShown(!shown())}>
              {shown() ? t('secret.hide') : t('secret.show')}
            </button>
          </div>
        </div>
        <dl>
          <Show when={props.secret.env}>
            <dt>{t('secret.env')}</dt>
            <dd>
              <span class="code">{props.secret.env}</span>
            </dd>
          </Show>
          <Show when={props.secret.deadline}>{(deadline) => <Until deadline={deadline()} skew={props.skew} then={t('ask.then.secret')} />}</Show>
        </dl>
        <p class="meta" id={`${props.id}-k`}>
          {t('secret.kept')}
        </p>
        {props.state(props.phase.at === 'failed' ? props.phase.reason : null)}
      </div>
      <div class="acts main">
        <Button
          kind="primary"
          disabled={blocked()}
          busy={sending('give')}
          name={filled() ? undefined : `${t('secret.give')}. ${t('secret.empty')}`}
          onPress={submit}
        >
          {t('secret.give')}
        </Button>
        <Button disabled={props.off} busy={sending('refuse')} onPress={() => void props.give(null)}>
          {t('secret.refuse')}
        </Button>
      </div>
    </>
  )
}
