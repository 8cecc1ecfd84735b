import { createContext, createSignal, For, Show, useContext, type Accessor, type JSX } from 'solid-js'
import { Icon, type IconName } from './icon'

/** A short word at the foot of the page. Its kind is passed, never guessed; errors stay until they are closed. */
export interface Toast {
  kind: 'plain' | 'good' | 'bad'
  text: string
  icon?: IconName
  action?: { label: string; run: () => void }
  /** Stays until closed or replaced. */
  stays?: boolean
}
export interface ShownToast extends Toast { id: number }

/** What surfaces may say beside their own place: a toast, or a sentence for assistive technology alone, once. */
export interface Notices {
  /** Shows a toast and returns what takes it away. At most two stand at a time. */
  toast: (toast: Toast) => () => void
  announce: (text: string) => void
  /** The same, at once: for failures. */
  alarm: (text: string) => void
  toasts: Accessor<ShownToast[]>
  spoken: Accessor<string>
  shouted: Accessor<string>
  drop: (id: number) => void
  /** Held while the pointer or the focus is on one. */
  hold: (held: boolean) => void
}

export const TOAST_MS = 5000

/** `later` runs once after some ms and returns its cancel; the caller owns the clock. */
export function makeNotices(later: (ms: number, run: () => void) => () => void): Notices {
  const [toasts, setToasts] = createSignal<ShownToast[]>([])
  const [spoken, setSpoken] = createSignal('')
  const [shouted, setShouted] = createSignal('')
  // The same words twice in a row must be spoken twice: the tail makes them differ.
  const anew = (text: string) => (before: string) => (before === text ? `${text}\u00a0` : text)
  const timers = new Map<number, () => void>()
  let last = 0
  let held = false
  const drop = (id: number) => {
    timers.get(id)?.()
    timers.delete(id)
    setToasts((all) => all.filter((toast) => toast.id !== id))
  }
  const leaveLater = (id: number) => timers.set(id, later(TOAST_MS, () => (held ? leaveLater(id) : drop(id))))
  return {
    toasts,
    spoken,
    shouted,
    drop,
    hold: (value) => (held = value),
    toast: (toast) => {
      const id = ++last
      for (const old of toasts().slice(0, -1)) drop(old.id)
      setToasts((all) => [...all, { ...toast, id }])
      if (toast.kind !== 'bad' && !toast.stays) leaveLater(id)
      return () => drop(id)
    },
    announce: (text) => setSpoken(anew(text)),
    alarm: (text) => setShouted(anew(text)),
  }
}

const Context = createContext<Notices>()

export function NoticesProvider(props: { notices: Notices; children: JSX.Element }) {
  // Given once, for the life of the page.
  // eslint-disable-next-line solid/reactivity
  return <Context.Provider value={props.notices}>{props.children}</Context.Provider>
}

export function useNotices(): Notices {
  const notices = useContext(Context)
  if (!notices) throw new Error('Notices are used outside their provider')
  return notices
}

/** The toasts and the one polite announcer of the page. */
export function NoticesView(props: { notices: Notices; closeLabel: string }) {
  return (
    <>
      <div class="sr" role="status" aria-live="polite">
        {props.notices.spoken()}
      </div>
      <div class="sr" role="alert">
        {props.notices.shouted()}
      </div>
      <div
        class="toasts"
        onPointerEnter={() => props.notices.hold(true)}
        onPointerLeave={() => props.notices.hold(false)}
        onFocusIn={() => props.notices.hold(true)}
        onFocusOut={() => props.notices.hold(false)}
      >
        <For each={props.notices.toasts()}>
          {(toast) => (
            <div class="toast" classList={{ bad: toast.kind === 'bad', good: toast.kind === 'good' }} role={toast.kind === 'bad' ? 'alert' : 'status'}>
              <Icon name={toast.icon ?? (toast.kind === 'bad' ? 'circle-alert' : 'check')} size="s" />
              <span class="grow">{toast.text}</span>
              <Show when={toast.action}>
                {(action) => (
                  <button
                    type="button"
                    class="b"
                    classList={{ pri: toast.stays, qui: !toast.stays }}
                    onClick={() => {
                      props.notices.drop(toast.id)
                      action().run()
                    }}
                  >
                    {action().label}
                  </button>
                )}
              </Show>
              <Show when={toast.kind === 'bad' || toast.stays}>
                <button type="button" class="ib s" aria-label={props.closeLabel} onClick={() => props.notices.drop(toast.id)}>
                  <Icon name="x" size="s" />
                </button>
              </Show>
            </div>
          )}
        </For>
      </div>
    </>
  )
}
