import { createUniqueId, For, onMount, Show, type JSX } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { OpenClarify } from '../sync/reactive'
import { Button } from '../ui/button'
import { Until } from './left'
import type { Phase } from './port'
import { takesWords } from './typed'

export interface ClarifyProps {
  id: string
  question: OpenClarify
  phase: Phase
  off: boolean
  phone: boolean
  fingers: boolean
  /** Server's ms minus this device's. */
  skew: number
  /** Words typed so far; kept by the owner, so that no re-drawing loses them. */
  text: string
  onType: (text: string) => void
  /** Answers with exactly these words. */
  reply: (text: string) => void
  prose: (into: HTMLElement, text: string) => void
  firstRef: (element: HTMLElement) => void
  /** The field for words of one's own. */
  ownRef: (element: HTMLElement) => void
  state: (failed: string | null) => JSX.Element
}

/** A question as prose, its choices, where one press answers, and words of one's own as the last of them (design/LANGUAGE.md §8). */
export function ClarifyQuestion(props: ClarifyProps) {
  const label = createUniqueId()
  let words!: HTMLDivElement
  const free = () => takesWords(props.question)
  const own = () => props.phase.at === 'sending' && !props.question.choices.includes(props.phase.choice ?? '')
  const blocked = () => props.off || props.text.trim() === ''
  const submit = () => {
    if (props.text.trim() !== '') props.reply(props.text.trim())
  }
  // A question does not change while it is open.
  onMount(() => props.prose(words, props.question.question))
  return (
    <>
      <div class="in">
        <div ref={words} class="tx-md asks" id={`${props.id}-w`} dir="auto" />
        <div class="opts" role="group" aria-label={t('clarify.choices')}>
          <For each={props.question.choices}>
            {(choice, index) => (
              <button
                ref={(element) => {
                  if (index() === 0) props.firstRef(element)
                }}
                type="button"
                class="opt"
                classList={{ busy: props.phase.at === 'sending' && props.phase.choice === choice }}
                aria-disabled={props.off ? 'true' : undefined}
                onClick={() => props.reply(choice)}
              >
                <span class="grow" dir="auto">
                  {head(choice)}
                  <Show when={rest(choice)}>{(more) => <span class="m3">{more()}</span>}</Show>
                </span>
                <Show when={index() < 9 && !props.fingers}>
                  <kbd aria-hidden="true">{index() + 1}</kbd>
                </Show>
              </button>
            )}
          </For>
          <Show when={free()}>
            <div>
              <label class="sr" for={label}>
                {t('clarify.own')}
              </label>
              <div class="f own">
                <textarea
                  ref={(element) => {
                    if (props.question.choices.length === 0) props.firstRef(element)
                    props.ownRef(element)
                  }}
                  id={label}
                  rows={1}
                  dir="auto"
                  placeholder={props.question.choices.length > 0 ? t('clarify.other') : t('clarify.own')}
                  value={props.text}
                  enterkeyhint={props.fingers ? 'enter' : 'send'}
                  onInput={(input) => props.onType(input.currentTarget.value)}
                  onKeyDown={(key) => {
                    if (!answers(key, props.fingers)) return
                    key.preventDefault()
                    submit()
                  }}
                />
                <Show when={props.question.choices.length > 0 && props.question.choices.length < 9 && !props.fingers}>
                  <kbd aria-hidden="true">{props.question.choices.length + 1}</kbd>
                </Show>
              </div>
            </div>
          </Show>
        </div>
        <Show when={props.question.deadline}>
          {(deadline) => (
            <dl>
              <Until deadline={deadline()} skew={props.skew} then={t('ask.then.clarify')} />
            </dl>
          )}
        </Show>
        {props.state(props.phase.at === 'failed' ? props.phase.reason : null)}
      </div>
      <Show when={free()} fallback={<div class="acts none" />}>
        <div class="acts main">
          <Button
            kind="primary"
            disabled={blocked()}
            busy={own()}
            name={props.text.trim() === '' ? `${t('clarify.send')}. ${t('clarify.empty')}` : undefined}
            onPress={submit}
          >
            {t('clarify.send')}
            <Show when={!props.fingers && !own()}>
              <kbd aria-hidden="true">Enter</kbd>
            </Show>
          </Button>
          <Show when={!props.phone}>
            <span class="meta">{t('clarify.locked')}</span>
          </Show>
        </div>
      </Show>
    </>
  )
}

/** As in the message box: Enter sends with a fine pointer, Ctrl or Cmd Enter everywhere, and the Enter that ends a composition never. */
function answers(key: KeyboardEvent, fingers: boolean): boolean {
  if (key.key !== 'Enter' || key.isComposing || key.keyCode === 229 || key.altKey) return false
  return key.ctrlKey || key.metaKey || (!key.shiftKey && !fingers)
}

/** A choice may explain itself after its first line. */
function head(choice: string): string {
  return choice.split('\n')[0]!
}

function rest(choice: string): string {
  return choice.split('\n').slice(1).join('\n').trim()
}
