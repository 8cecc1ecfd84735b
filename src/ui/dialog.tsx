import { createUniqueId, onCleanup, onMount, type JSX } from 'solid-js'

/**
 * A modal dialog on the native element: focus is trapped and returns by itself, Esc and a press on the ground cancel. Mount it to open
 * it. Focus starts on the element with `autofocus`, which is the safe one.
 */
export function Dialog(props: { title: string; onCancel: () => void; children: JSX.Element }) {
  const id = createUniqueId()
  let dialog!: HTMLDialogElement
  onMount(() => {
    const before = document.activeElement
    dialog.showModal()
    dialog.querySelector<HTMLElement>('[autofocus]')?.focus()
    onCleanup(() => {
      if (dialog.open) dialog.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    })
  })
  return (
    <dialog
      ref={dialog}
      class="dlg"
      aria-labelledby={id}
      onCancel={(cancel) => {
        cancel.preventDefault()
        props.onCancel()
      }}
      onClick={(press) => {
        if (press.target === dialog) props.onCancel()
      }}
    >
      <div class="dlg-in">
        <h2 id={id}>{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  )
}
