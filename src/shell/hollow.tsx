import { Show, type JSX } from 'solid-js'
import { Icon, type IconName } from '../ui/icon'

/** A place with nothing in it: one sentence that says why, and one action. */
export function Hollow(props: { icon: IconName; title: string; text?: string; children?: JSX.Element }) {
  return (
    <div class="hollow">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      <Show when={props.text}>
        <p>{props.text}</p>
      </Show>
      {props.children}
    </div>
  )
}
