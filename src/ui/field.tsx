import { createUniqueId, Show, type JSX } from 'solid-js'
import { Icon } from './icon'

/** A labelled text field. The error stands below with its cure and is tied to the field; the hint stands there otherwise. */
export interface FieldProps {
  label: string
  value: string
  onInput: (value: string) => void
  type?: 'text' | 'password' | 'url'
  placeholder?: string
  hint?: string
  error?: string
  required?: boolean
  autocomplete?: string
  list?: string
  ref?: (element: HTMLInputElement) => void
  after?: JSX.Element
}

export function Field(props: FieldProps) {
  const id = createUniqueId()
  return (
    <div class="field">
      <label class="lab" for={id}>
        {props.label}
      </label>
      <div class="row">
        <div class="f l grow" classList={{ wrong: !!props.error }}>
          <input
            id={id}
            ref={(element) => props.ref?.(element)}
            type={props.type === 'url' ? 'text' : (props.type ?? 'text')}
            inputmode={props.type === 'url' ? 'url' : undefined}
            value={props.value}
            placeholder={props.placeholder}
            list={props.list}
            autocomplete={props.autocomplete ?? 'off'}
            spellcheck={false}
            autocapitalize="off"
            aria-required={props.required}
            aria-invalid={props.error ? 'true' : undefined}
            aria-describedby={props.error || props.hint ? `${id}-h` : undefined}
            onInput={(input) => props.onInput(input.currentTarget.value)}
          />
        </div>
        {props.after}
      </div>
      <Show when={props.error ?? props.hint}>
        <p class="hint" id={`${id}-h`} classList={{ bad: !!props.error }}>
          <Show when={props.error}>
            <Icon name="circle-alert" size="s" />
          </Show>
          {props.error ?? props.hint}
        </p>
      </Show>
    </div>
  )
}
