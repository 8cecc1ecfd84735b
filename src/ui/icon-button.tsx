import { splitProps } from 'solid-js'
import { Icon, type IconName } from './icon'

/** A square button with an icon alone; `name` is its accessible name and, with a fine pointer, its tooltip. */
export interface IconButtonProps {
  icon: IconName
  name: string
  /** A shortcut, shown in the tooltip. */
  keys?: string
  small?: boolean
  expanded?: boolean
  popup?: 'menu' | 'listbox' | 'dialog'
  ref?: (element: HTMLButtonElement) => void
  onPress: (press: MouseEvent) => void
}

export function IconButton(props: IconButtonProps) {
  const [own] = splitProps(props, ['icon', 'name', 'keys', 'small', 'expanded', 'popup', 'ref', 'onPress'])
  return (
    <button
      ref={(element) => own.ref?.(element)}
      type="button"
      class="ib"
      classList={{ s: own.small }}
      aria-label={own.name}
      aria-expanded={own.expanded === undefined ? undefined : own.expanded}
      aria-haspopup={own.popup}
      data-tip={own.keys ? `${own.name} (${own.keys})` : own.name}
      onClick={(press) => own.onPress(press)}
    >
      <Icon name={own.icon} />
    </button>
  )
}
