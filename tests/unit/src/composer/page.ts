/** The one element that fits; fails with the page where there is none. */
export function query<E extends HTMLElement = HTMLElement>(selector: string): E {
  const found = document.querySelector<E>(selector)
  if (!found) throw new Error(`No ${selector} in ${document.body.innerHTML}`)
  return found
}

export function queryAll(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)]
}

/** Presses the button of this name. */
export function pressed(name: string): void {
  const button = query(`button[aria-label="${name}"]`)
  button.focus()
  button.click()
}
