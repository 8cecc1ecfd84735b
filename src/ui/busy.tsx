/** Three equal bars, the only "busy" sign of the product (design/LANGUAGE.md §2). Words beside it say what goes on. */
export function Busy() {
  return (
    <span class="run" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  )
}
