/** The first stop of the tab key: a way past the list. */
export function Skip(props: { text: string; onSkip: () => void }) {
  return (
    <a
      class="skip"
      href="#main"
      onClick={(press) => {
        press.preventDefault()
        props.onSkip()
      }}
    >
      {props.text}
    </a>
  )
}
