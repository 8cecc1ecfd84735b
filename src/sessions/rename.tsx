import { onMount } from 'solid-js'

/** The title as a field: Enter and leaving keep it, Esc and an empty one do not. `onDone` is called once, with null for no change; `left`: the focus went elsewhere by itself, and stays there. */
export function RenameForm(props: { title: string; label: string; onDone: (title: string | null, left: boolean) => void }) {
  let field!: HTMLInputElement
  let done = false
  const finish = (keep: boolean, left = false) => {
    if (done) return
    done = true
    const title = field.value.trim()
    props.onDone(keep && title && title !== props.title ? title : null, left)
  }
  onMount(() => {
    field.focus()
    field.select()
  })
  return (
    <form
      class="rename"
      onSubmit={(submit) => {
        submit.preventDefault()
        finish(true)
      }}
    >
      <div class="f">
        <input
          ref={field}
          value={props.title}
          aria-label={props.label}
          maxlength={200}
          dir="auto"
          onBlur={() => finish(true, true)}
          onKeyDown={(key) => {
            key.stopPropagation()
            if (key.key === 'Escape') finish(false)
          }}
        />
      </div>
    </form>
  )
}
