/**
 * Lets a row of a list be dragged to another place by a handle inside of it; `drop` is told the place, from 0. Rows that make way move by style alone:
 * the order itself changes only when the row is let go.
 */
export function listenForDrag(handle: HTMLElement, drop: (to: number) => void): void {
  handle.addEventListener('pointerdown', (press) => {
    const row = handle.closest('li')
    const rows = row?.parentElement ? [...row.parentElement.children].filter((one): one is HTMLElement => one instanceof HTMLElement) : []
    const from = row ? rows.indexOf(row) : -1
    if (press.button !== 0 || !row || rows.length < 2) return
    press.preventDefault()
    handle.setPointerCapture(press.pointerId)
    const middles = rows.map((one) => {
      const box = one.getBoundingClientRect()
      return box.top + box.height / 2
    })
    const height = row.getBoundingClientRect().height
    let to = from
    const move = (moved: PointerEvent) => {
      // Not beyond the first and the last place.
      const by = Math.max(middles[0]! - middles[from]!, Math.min(middles.at(-1)! - middles[from]!, moved.clientY - press.clientY))
      const at = middles[from]! + by
      to = middles.filter((middle, n) => n !== from && middle < at).length
      row.toggleAttribute('data-dragged', true)
      row.style.setProperty('translate', `0 ${by}px`)
      rows.forEach((one, n) => {
        if (n !== from) one.style.setProperty('translate', n > from && n <= to ? `0 ${-height}px` : n < from && n >= to ? `0 ${height}px` : 'none')
      })
    }
    const end = (event: Event) => {
      handle.removeEventListener('pointermove', move)
      handle.removeEventListener('lostpointercapture', end)
      handle.removeEventListener('pointercancel', cancel)
      row.removeAttribute('data-dragged')
      for (const one of rows) one.style.removeProperty('translate')
      if (event.type === 'lostpointercapture' && to !== from) drop(to)
    }
    const cancel = () => {
      to = from
    }
    handle.addEventListener('pointermove', move)
    handle.addEventListener('pointercancel', cancel)
    handle.addEventListener('lostpointercapture', end)
  })
}
