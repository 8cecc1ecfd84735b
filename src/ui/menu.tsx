import { createSignal, For, Show } from 'solid-js'
import { Icon, type IconName } from './icon'
import { Popover } from './popover'

/** An entry of a menu; `line` draws a hairline before it. Destructive ones stand last, after a line. */
export interface MenuItem {
  label: string
  icon?: IconName
  keys?: string
  danger?: boolean
  line?: boolean
  run: () => void
}

/** A menu at an anchor: focus on the first entry, arrows wrap, Home and End, letters jump, Esc returns the focus. */
export function Menu(props: { anchor: HTMLElement; label: string; items: MenuItem[]; align?: 'start' | 'end'; onClose: () => void }) {
  const [at, setAt] = createSignal(0)
  const nodes: HTMLButtonElement[] = []
  const go = (index: number) => {
    const count = props.items.length
    setAt((index + count) % count)
    nodes[at()]?.focus()
  }
  const onKey = (key: KeyboardEvent) => {
    const jump = () => {
      const letter = key.key.toLocaleLowerCase()
      const order = props.items.map((_, index) => (at() + 1 + index) % props.items.length)
      const hit = order.find((index) => props.items[index]!.label.toLocaleLowerCase().startsWith(letter))
      if (hit !== undefined) go(hit)
    }
    if (key.key === 'ArrowDown') go(at() + 1)
    else if (key.key === 'ArrowUp') go(at() - 1)
    else if (key.key === 'Home') go(0)
    else if (key.key === 'End') go(props.items.length - 1)
    else if (key.key === 'Tab') props.onClose()
    else {
      if (key.key.length === 1 && key.key !== ' ' && !key.ctrlKey && !key.metaKey) jump()
      return
    }
    if (key.key !== 'Tab') key.preventDefault()
  }
  return (
    <Popover anchor={props.anchor} role="menu" label={props.label} class="menu" align={props.align} onOpen={() => go(0)} onClose={() => props.onClose()} onKey={onKey}>
      <For each={props.items}>
        {(item, index) => (
          <>
            <Show when={item.line}>
              <hr />
            </Show>
            <button
              ref={(element) => (nodes[index()] = element)}
              type="button"
              role="menuitem"
              class="mi"
              classList={{ dan: item.danger }}
              tabindex={index() === at() ? 0 : -1}
              onClick={() => {
                props.onClose()
                item.run()
              }}
            >
              <Show when={item.icon}>{(icon) => <Icon name={icon()} size="s" />}</Show>
              <span class="grow">{item.label}</span>
              <Show when={item.keys}>
                <kbd>{item.keys}</kbd>
              </Show>
            </button>
          </>
        )}
      </For>
    </Popover>
  )
}
