import { createEffect, createMemo, createSignal, Match, on, onCleanup, onMount, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { running } from '../../i18n/format'
import { refusalOf } from '../shell/reason'
import { Busy } from '../ui/busy'
import { Icon } from '../ui/icon'
import { now } from '../ui/now'
import { onDemand } from '../ui/on-demand'
import { sends } from './enter'
import type { ComposerProps } from './port'
import { primaryOf } from './primary'

const ModelPicker = onDemand(() => import('./model-picker').then((module) => module.ModelPicker))

interface Failed { reason: string; text: string; restored: boolean }

/** The message box: text, place, model and the one button whose meaning follows the chat (design/LANGUAGE.md §8). */
export function Composer(props: ComposerProps) {
  let box!: HTMLTextAreaElement
  let modelChip!: HTMLButtonElement
  const [text, setText] = createSignal('')
  const [failed, setFailed] = createSignal<Failed | null>(null)
  const [sending, setSending] = createSignal(new Set<string>())
  const [stopAsked, setStopAsked] = createSignal(false)
  const [focused, setFocused] = createSignal(false)
  const [models, setModels] = createSignal(false)

  createEffect(
    on(
      () => props.chat,
      (chat) => {
        setText('')
        setFailed(null)
        setStopAsked(false)
        // What is read after the wait is read on purpose as it is then.
        // eslint-disable-next-line solid/reactivity
        void props.drafts.load(chat).then((draft) => {
          if (chat === props.chat && text() === '' && !sending().has(chat)) setText(draft.text)
        })
      },
    ),
  )
  createEffect(() => props.onWriting?.(focused() && text() !== ''))
  onCleanup(() => props.onWriting?.(false))
  // A stop is asked once; the next run starts with a fresh button.
  createEffect(() => {
    if (!props.run) setStopAsked(false)
  })

  const primary = createMemo(() =>
    primaryOf({
      text: text(),
      working: props.run !== null,
      stopping: props.run !== null && (props.run.stopping || stopAsked()),
      online: props.online,
      ready: props.ready,
      sending: sending().has(props.chat),
    }),
  )
  const type = (value: string) => {
    setText(value)
    props.drafts.note(props.chat, value)
  }
  const submit = async () => {
    const chat = props.chat
    const now = primary()
    if (now.act !== 'send') {
      if (now.act === 'stop' && text().trim()) props.announce(t('composer.working'))
      else if (now.act === 'off') props.announce(now.name)
      return
    }
    const message = text().trim()
    const key = props.drafts.claim(chat, message)
    setFailed(null)
    setText('')
    setSending((all) => new Set(all).add(chat))
    try {
      await props.send(message, key)
      props.drafts.settle(chat, key)
      if (chat === props.chat) props.onSent()
    } catch (error) {
      const here = chat === props.chat
      const restored = here ? text() === '' : true
      if (here && restored) setText(message)
      if (here) {
        setFailed({ reason: refusalOf(error), text: message, restored })
        props.announce(`${t('composer.failed')} ${refusalOf(error)}`)
      } else {
        // What was typed after it stays, too.
        const newer = props.drafts.peek(chat)?.text
        if (newer !== message) props.drafts.note(chat, newer ? `${message}\n\n${newer}` : message)
        props.onFailedElsewhere(`${t('composer.failed')} ${refusalOf(error)} ${t('composer.failed.elsewhere')}`)
      }
    } finally {
      setSending((all) => {
        const rest = new Set(all)
        rest.delete(chat)
        return rest
      })
    }
  }
  const stop = async () => {
    setStopAsked(true)
    try {
      await props.stop()
    } catch {
      setStopAsked(false)
    }
  }
  const press = () => {
    if (primary().act === 'stop') void stop()
    else void submit()
  }
  // Engines without `field-sizing` grow the box by hand.
  const grow = () => {
    if (CSS.supports?.('field-sizing', 'content')) return
    box.style.setProperty('block-size', 'auto')
    box.style.setProperty('block-size', `${box.scrollHeight}px`)
  }
  createEffect(on(text, grow, { defer: true }))
  onMount(() => {
    props.handle?.({
      focus: () => box.focus(),
      put: (value) => {
        if (text().trim() === '') type(value)
        box.focus()
        box.setSelectionRange(box.value.length, box.value.length)
      },
      openModels: () => setModels(true),
    })
    const keep = () => props.drafts.flush()
    const hidden = () => {
      if (document.visibilityState === 'hidden') keep()
    }
    addEventListener('pagehide', keep)
    document.addEventListener('visibilitychange', hidden)
    onCleanup(() => {
      keep()
      removeEventListener('pagehide', keep)
      document.removeEventListener('visibilitychange', hidden)
    })
  })

  const rest = () => props.phone && !focused() && text() === '' && !models()
  const folder = () => props.workspace?.split(/[\\/]/).filter(Boolean).at(-1) ?? props.workspace
  return (
    <>
      <Show when={failed()}>
        {(what) => (
          <div class="strip bad" role="alert">
            <Icon name="circle-alert" size="s" />
            <span class="grow">
              <b>{t('composer.failed')}</b> {what().reason} <Show when={what().restored}>{t('composer.failed.keep')}</Show>
            </span>
            <Show when={!what().restored}>
              <button
                type="button"
                class="b qui"
                onClick={() => {
                  type(`${what().text}\n\n${text()}`)
                  setFailed(null)
                  box.focus()
                }}
              >
                {t('composer.putBack')}
              </button>
            </Show>
            <button type="button" class="ib s" aria-label={t('shell.close')} onClick={() => setFailed(null)}>
              <Icon name="x" size="s" />
            </button>
          </div>
        )}
      </Show>
      <form
        class="comp"
        classList={{ rest: rest() }}
        onSubmit={(event) => {
          event.preventDefault()
          press()
        }}
        onFocusIn={() => setFocused(true)}
        onFocusOut={(leave) => {
          if (!(leave.relatedTarget instanceof Node && leave.currentTarget.contains(leave.relatedTarget))) setFocused(false)
        }}
      >
        <textarea
          ref={box}
          id="message"
          rows={1}
          aria-label={t('composer.label')}
          placeholder={props.placeholder}
          dir="auto"
          value={text()}
          enterkeyhint={props.fingers ? 'enter' : 'send'}
          onInput={(input) => type(input.currentTarget.value)}
          onKeyDown={(key) => {
            if (!sends(key, props.fingers)) return
            key.preventDefault()
            void submit()
          }}
        />
        <div class="ctl">
          <Show when={props.workspace}>
            {(path) => (
              <span class="chip place" title={path()}>
                <Icon name="folder" />
                <span>
                  <span class="sr">{t('composer.workspace', { path: path() })}</span>
                  <span aria-hidden="true">{folder()}</span>
                </span>
              </span>
            )}
          </Show>
          <span class="grow" />
          <Show when={!props.online && text().trim() !== ''} fallback={<Show when={props.run}>{(run) => <Show when={run().waits} fallback={<Working since={run().since} skew={props.skew} />}><span class="say cut">{t('session.waits')}</span></Show>}</Show>}>
            <span class="say cut">{t('composer.offline.short')}</span>
          </Show>
          <button
            ref={modelChip}
            type="button"
            class="chip model"
            aria-haspopup="dialog"
            aria-expanded={models()}
            aria-label={props.model ? t('composer.model.name', { model: props.model.id }) : t('composer.model.none')}
            onClick={() => setModels(!models())}
          >
            <span>{props.scripted ? t('composer.model.tag') : (props.model?.id.split('/').at(-1) ?? t('composer.model.none'))}</span>
            <Icon name="chevron-down" size="s" />
          </button>
          <button type="submit" class="go" aria-disabled={primary().act === 'off' ? 'true' : undefined} aria-label={primary().name} title={primary().name}>
            <Switch fallback={<Icon name="arrow-up" size="s" />}>
              <Match when={look() === 'stop'}>
                <span class="sq" />
              </Match>
              <Match when={look() === 'busy'}>
                <Busy />
              </Match>
            </Switch>
          </button>
        </div>
      </form>
      <Show when={models()}>
        <ModelPicker
          anchor={modelChip}
          current={props.model}
          load={() => props.models()}
          onChoose={(model) => props.onModel(model)}
          onManage={() => props.onManage()}
          onClose={() => setModels(false)}
        />
      </Show>
    </>
  )

  function look(): 'arrow' | 'stop' | 'busy' {
    const it = primary()
    return it.act === 'stop' ? 'stop' : it.act === 'off' ? it.look : 'arrow'
  }
}

function Working(props: { since: number; skew: number }) {
  const at = now.second()
  return <span class="say time cut">{t('session.working', { time: running(at() + props.skew - props.since) })}</span>
}
