import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show } from 'solid-js'
import { t } from '../../i18n'
import { running } from '../../i18n/format'
import { isUnsure } from '../backend/port'
import { refusalOf } from '../shell/reason'
import { Busy } from '../ui/busy'
import { Icon } from '../ui/icon'
import { now } from '../ui/now'
import { onDemand } from '../ui/on-demand'
import { effortName } from './effort'
import { sends } from './enter'
import type { ComposerProps } from './port'
import { busyWay, otherWays, primaryOf } from './primary'
import { SendButton } from './send-button'
import { filesDraft, type Given, type Tray } from './tray-port'
import type { BusyWay, Way } from './way'

const ModelPicker = onDemand(() => import('./model-picker').then((module) => module.ModelPicker))

/** A second press on Stop may fall on what has moved there meanwhile; so long after the first it sends nothing, ms. */
const STOP_GUARD_MS = 800

interface Failed { reason: string; text: string; restored: boolean }

/** The message box: text, place, model and the one button whose meaning follows the chat (design/LANGUAGE.md §8). */
export function Composer(props: ComposerProps) {
  let box!: HTMLTextAreaElement
  let modelChip!: HTMLButtonElement
  let picker!: HTMLInputElement
  const [text, setText] = createSignal('')
  const [failed, setFailed] = createSignal<Failed | null>(null)
  /** What became of the last message, where it went another way than was asked. */
  const [said, setSaid] = createSignal<string | null>(null)
  const [sending, setSending] = createSignal(new Set<string>())
  const [stopAsked, setStopAsked] = createSignal(false)
  const [focused, setFocused] = createSignal(false)
  const [models, setModels] = createSignal(false)
  const [tray, setTray] = createSignal<Tray | null>(null)
  /** Where another message waits for the one that is on its way. */
  let again: string | null = null
  let stoppedAt = -Infinity

  createEffect(
    on(
      () => props.chat,
      (chat) => {
        setText('')
        setFailed(null)
        setSaid(null)
        setStopAsked(false)
        // What is read after the wait is read on purpose as it is then.
        // eslint-disable-next-line solid/reactivity
        void props.drafts.load(chat).then((draft) => {
          if (chat === props.chat && text() === '' && !sending().has(chat)) setText(draft.text)
        })
        if (props.tray)
          // eslint-disable-next-line solid/reactivity
          void props.drafts.load(filesDraft(chat)).then((kept) => kept.text && withTray((files) => files.restore(chat, kept.text)))
      },
    ),
  )
  createEffect(() => props.onWriting?.(focused() && text() !== ''))
  onCleanup(() => props.onWriting?.(false))
  // A stop is asked once; the next run starts with a fresh button.
  createEffect(() => {
    if (!props.run) setStopAsked(false)
  })

  /** A build that is gone has no tray; the offer of the new one says why. */
  const withTray = (use: (tray: Tray) => void) => {
    props.tray?.().then((loaded) => use(setTray(() => loaded))).catch(() => undefined)
  }
  const files = () => tray()?.any(props.chat)
  const filled = () => !!text().trim() || files()
  const stopping = () => props.run !== null && (props.run.stopping || stopAsked())
  // A word into a run takes no files.
  const ways = () => ({ mode: props.mode, steers: props.steers && !files(), stopping: stopping() })
  const primary = createMemo(() =>
    primaryOf({
      ...ways(),
      text: text(),
      files: files(),
      held: tray()?.held(props.chat),
      working: props.run !== null,
      online: props.online,
      ready: props.ready,
      sending: sending().has(props.chat),
      locked: props.locked === true,
    }),
  )
  /** The page puts the focus here; never away from a secret. */
  const focusBox = () => {
    if (!props.held) box.focus()
  }
  const type = (value: string) => {
    setText(value)
    props.drafts.note(props.chat, value)
  }
  const submit = async (chosen?: BusyWay) => {
    if (props.held) return
    const chat = props.chat
    const { act, name } = primary()
    if (act === 'off' || act === 'stop') {
      // A second message in the moment before the first is taken goes behind it.
      if (sending().has(chat) && filled()) again = chat
      else if (act === 'off') props.announce(name)
      return
    }
    const message = text().trim()
    const given = tray()?.given(chat)
    const before = props.drafts.unsure(chat, message)
    const way = before ?? chosen ?? act
    const key = props.drafts.claim(chat, message, way)
    setFailed(null)
    setSaid(null)
    setText('')
    setSending((all) => new Set(all).add(chat))
    const leave = () => {
      setSending((all) => {
        const rest = new Set(all)
        rest.delete(chat)
        return rest
      })
    }
    try {
      let answer = await deliver(chat, message, key, way, given)
      // Now that it is known that it had not arrived before, it goes the way that fits now.
      const fits = currentWay()
      if (!answer.taken && before && chat === props.chat && fits && fits !== way) answer = await deliver(chat, message, key, fits, given)
      leave()
      if (!answer.taken) return giveBack(chat, message, answer.why)
      props.drafts.settle(chat, key)
      if (given) tray()?.sent(chat, given, answer.chat)
      if (answer.chat) return follow(chat, answer.chat)
      if (chat !== props.chat) return
      if (answer.say) {
        setSaid(answer.say)
        props.announce(answer.say)
      }
      if (way === 'send') props.onSent()
      if (again === chat && filled()) void submit(way === 'send' ? 'queue' : undefined)
    } catch (error) {
      leave()
      if (!isUnsure(error)) props.drafts.going(chat, key, null)
      giveBack(chat, message, refusalOf(error))
    } finally {
      again = null
    }
  }
  const deliver = async (chat: string, message: string, key: string, way: Way, given?: Given) => {
    const going = (next: Way) => props.drafts.going(chat, key, next)
    going(way)
    const answer = await props.send(message, given?.keyOf(message, key) ?? key, way, going, given)
    if (!answer.taken) props.drafts.going(chat, key, null)
    return answer
  }
  /** What was typed behind a first message belongs to the chat that it made. */
  const follow = async (from: string, chat: string) => {
    const newer = props.drafts.peek(from)?.text
    if (chat === props.chat) props.onSent()
    if (!newer) return
    props.drafts.note(from, '')
    await props.drafts.append(chat, newer)
    if (chat === props.chat && text() === '') setText(newer)
  }
  /** What a press would do with text in the box now; null while nothing can be sent. */
  const currentWay = (): Way | null => (!props.run ? 'send' : props.locked ? null : busyWay(ways()))
  /** The text was not taken: it goes back to where it came from, never over newer text. */
  const giveBack = (chat: string, message: string, reason: string) => {
    if (chat === props.chat) {
      const restored = text() === ''
      if (restored) setText(message)
      setFailed({ reason, text: message, restored })
      props.announce(`${t('composer.failed')} ${reason}`)
      return
    }
    // What was typed after it stays, too.
    const newer = props.drafts.peek(chat)?.text
    if (newer !== message) props.drafts.note(chat, newer ? `${message}\n\n${newer}` : message)
    props.onFailedElsewhere(`${t('composer.failed')} ${reason} ${t('composer.failed.elsewhere')}`)
  }
  const stop = async () => {
    if (!props.run || stopping()) return
    setStopAsked(true)
    stoppedAt = Date.now()
    try {
      await props.stop()
    } catch {
      setStopAsked(false)
    }
  }
  const press = () => {
    if (primary().act === 'stop') return void stop()
    if (Date.now() - stoppedAt >= STOP_GUARD_MS) void submit()
    back()
  }
  /** What was pressed may be gone with the text: who works with keys goes on writing. */
  const back = () => {
    if (!props.fingers) queueMicrotask(focusBox)
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
      focus: () => focusBox(),
      put: (value) => {
        if (text().trim() === '') type(value)
        focusBox()
        box.setSelectionRange(box.value.length, box.value.length)
      },
      give: (value) => {
        type(text().trim() === '' ? value : `${text()}\n\n${value}`)
        focusBox()
      },
      take: (value) => {
        if (text() === value && props.drafts.unsure(props.chat, value) === undefined) type('')
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

  const rest = () => props.phone && !focused() && text() === '' && !models() && !files()
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
                  focusBox()
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
      <Show when={said()}>
        {(words) => (
          <div class="strip">
            <Icon name="list-plus" size="s" />
            <span class="grow">{words()}</span>
            <button type="button" class="ib s" aria-label={t('shell.close')} onClick={() => setSaid(null)}>
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
        onPointerDown={() => props.onEnter?.()}
        onClick={() => props.onEnter?.()}
        onFocusIn={() => setFocused(true)}
        onFocusOut={(leave) => {
          if (!(leave.relatedTarget instanceof Node && leave.currentTarget.contains(leave.relatedTarget))) setFocused(false)
        }}
      >
        <Show when={files() && tray()}>{(loaded) => loaded().View({ get chat() { return props.chat }, get online() { return props.online }, onLeft: () => focusBox() })}</Show>
        <textarea
          ref={box}
          id="message"
          rows={1}
          aria-label={t('composer.label')}
          placeholder={props.locked ? t('composer.locked') : props.placeholder}
          readonly={props.locked || props.held}
          aria-disabled={props.locked ? 'true' : undefined}
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
          <Show when={props.tray}>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              onChange={() => {
                const [chat, chosen] = [props.chat, [...(picker.files ?? [])]]
                picker.value = ''
                withTray((loaded) => loaded.add(chat, chosen))
                back()
              }}
            />
            <button type="button" class="ib" aria-label={t('composer.attach')} title={t('composer.attach')} onClick={() => picker.click()}>
              <Icon name="paperclip" />
            </button>
          </Show>
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
          <Show when={!props.online && filled()} fallback={<Show when={props.run}>{(run) => <Show when={run().waits} fallback={<Working since={run().since} skew={props.skew} />}><span class="say cut">{t('session.waits')}</span></Show>}</Show>}>
            <span class="say cut">{t('composer.offline.short')}</span>
          </Show>
          <button
            ref={modelChip}
            type="button"
            class="chip model"
            aria-haspopup="dialog"
            aria-expanded={models()}
            aria-label={[props.model ? t('composer.model.name', { model: props.model.id }) : t('composer.model.none'), ...(props.effort ? [t('composer.effort.name', { effort: effortName(props.effort) })] : [])].join('. ')}
            onClick={() => setModels(!models())}
          >
            <span>{props.scripted ? t('composer.model.tag') : (props.model?.id.split('/').at(-1) ?? t('composer.model.none'))}</span>
            <Show when={props.effort}>{(effort) => <span class="m3">{effortName(effort())}</span>}</Show>
            <Icon name="chevron-down" size="s" />
          </button>
          <Show when={props.run && props.online && filled()}>
            <button
              type="button"
              class="ib stop"
              aria-disabled={stopping() ? 'true' : undefined}
              aria-label={stopping() ? t('composer.stopping') : t('composer.stop')}
              title={stopping() ? t('composer.stopping') : t('composer.stop')}
              onClick={() => {
                void stop()
                back()
              }}
            >
              <Show when={!stopping()} fallback={<Busy />}>
                <span class="sq" />
              </Show>
            </button>
          </Show>
          <SendButton
            primary={primary()}
            others={otherWays(ways())}
            onWay={(way) => {
              props.onMode(way)
              void submit(way)
              back()
            }}
          />
        </div>
      </form>
      <Show when={models()}>
        <ModelPicker
          anchor={modelChip}
          current={props.model}
          load={() => props.models()}
          onChoose={(model) => props.onModel(model)}
          effort={props.effort}
          onEffort={(effort) => props.onEffort(effort)}
          onManage={(of) => props.onManage(of)}
          onClose={() => setModels(false)}
        />
      </Show>
    </>
  )

}

function Working(props: { since: number; skew: number }) {
  const at = now.second()
  return <span class="say time cut">{t('session.working', { time: running(at() + props.skew - props.since) })}</span>
}
