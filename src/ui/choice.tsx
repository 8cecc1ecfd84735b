import { createUniqueId, Index, type JSX } from 'solid-js'

/** One of a few, as native radios, so that arrows, Space and forms work by themselves. They stay the same elements when their list is made anew: the focus is on one of them. The look comes from `class`. */
export interface ChoiceProps<V extends string> {
  labelledby: string
  class: string
  itemClass?: string
  value: V
  options: readonly { value: V; name?: string; shown: JSX.Element }[]
  onChange: (value: V) => void
}

export function Choice<V extends string>(props: ChoiceProps<V>) {
  const group = createUniqueId()
  return (
    <div class={props.class} role="radiogroup" aria-labelledby={props.labelledby}>
      <Index each={props.options}>
        {(option) => (
          <label class={props.itemClass ?? ''} data-value={option().value}>
            <input
              class="sr"
              type="radio"
              name={group}
              value={option().value}
              checked={props.value === option().value}
              aria-label={option().name}
              onChange={() => props.onChange(option().value)}
            />
            {option().shown}
          </label>
        )}
      </Index>
    </div>
  )
}

/** A switch, on or off. `labelledby` names it. */
export function Switch(props: { on: boolean; labelledby: string; onChange: (on: boolean) => void }) {
  return <button type="button" class="sw" role="switch" aria-checked={props.on} aria-labelledby={props.labelledby} onClick={() => props.onChange(!props.on)} />
}
