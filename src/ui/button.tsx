import { Show, splitProps, type JSX } from 'solid-js'
import { Busy } from './busy'

/**
 * A button. `disabled` keeps it focusable (`aria-disabled`) and swallows presses, so that its name can say why; `busy` does the same and
 * shows the bars in place of nothing, without changing its width.
 */
export interface ButtonProps {
  kind?: 'primary' | 'outline' | 'quiet' | 'danger'
  large?: boolean
  fill?: boolean
  type?: 'button' | 'submit'
  disabled?: boolean
  busy?: boolean
  name?: string
  describedby?: string
  ref?: (element: HTMLButtonElement) => void
  onPress?: (press: MouseEvent) => void
  children: JSX.Element
}

const KINDS = { primary: 'pri', outline: 'out', quiet: 'qui', danger: 'dan' } as const

export function Button(props: ButtonProps) {
  const [own] = splitProps(props, ['kind', 'large', 'fill', 'type', 'disabled', 'busy', 'name', 'describedby', 'ref', 'onPress', 'children'])
  const off = () => own.disabled || own.busy
  return (
    <button
      ref={(element) => own.ref?.(element)}
      type={own.type ?? 'button'}
      class="b"
      classList={{ [KINDS[own.kind ?? 'outline']]: true, l: own.large, fill: own.fill, busy: own.busy }}
      aria-disabled={off() ? 'true' : undefined}
      aria-label={own.name}
      aria-describedby={own.describedby}
      onClick={(press) => {
        if (off()) {
          press.preventDefault()
          return
        }
        own.onPress?.(press)
      }}
    >
      <Show when={own.busy}>
        <Busy />
      </Show>
      {own.children}
    </button>
  )
}
