/** The look of this device: attributes of the root, set before first paint by the inline script of `index.html` and kept in one entry. */
export interface Look {
  theme: 'system' | 'light' | 'dark'
  skin: 'sea' | 'cobalt' | 'iris' | 'rose' | 'ember' | 'moss' | 'brass' | 'ink'
  text: 's' | 'm' | 'l' | 'xl'
  /** Absent: follow the device. */
  contrast?: 'more' | 'normal'
  motion?: 'less' | 'full'
}

export const LOOK_KEY = 'talaria.look'
export const SKINS: Look['skin'][] = ['sea', 'cobalt', 'iris', 'rose', 'ember', 'moss', 'brass', 'ink']
export const PLAIN_LOOK: Look = { theme: 'system', skin: 'sea', text: 'm' }

/** What was kept; a member that is not known falls back to its plain value. */
export function parseLook(value: string | null): Look {
  let kept: Partial<Record<keyof Look, string>>
  try {
    kept = JSON.parse(value ?? '{}') as typeof kept
  } catch {
    kept = {}
  }
  const one = <V extends string>(found: string | undefined, of: readonly V[]): V | undefined => of.find((known) => known === found)
  const contrast = one(kept?.contrast, ['more', 'normal'] as const)
  const motion = one(kept?.motion, ['less', 'full'] as const)
  return {
    theme: one(kept?.theme, ['system', 'light', 'dark'] as const) ?? 'system',
    skin: one(kept?.skin, SKINS) ?? 'sea',
    text: one(kept?.text, ['s', 'm', 'l', 'xl'] as const) ?? 'm',
    ...(contrast ? { contrast } : {}),
    ...(motion ? { motion } : {}),
  }
}

/** The attributes of the root for a look; null takes one away. */
export function attributesOf(look: Look): Record<string, string | null> {
  return {
    'data-theme': look.theme === 'system' ? null : look.theme,
    'data-skin': look.skin === 'sea' ? null : look.skin,
    'data-text': look.text === 'm' ? null : look.text,
    'data-contrast': look.contrast ?? null,
    'data-motion': look.motion ?? null,
  }
}

/** Puts a look on the root. The bar of the browser follows `--side`. */
export function applyLook(look: Look, root: HTMLElement): void {
  for (const [name, value] of Object.entries(attributesOf(look))) {
    if (value === null) root.removeAttribute(name)
    else root.setAttribute(name, value)
  }
  paintBar(root.ownerDocument)
}

/** Gives the browser's own bar the colour of the sidebar. */
export function paintBar(page: Document): void {
  const probe = page.createElement('i')
  probe.className = 'side-colour'
  page.body.append(probe)
  const colour = getComputedStyle(probe).backgroundColor
  probe.remove()
  if (colour) page.querySelector('meta[name="theme-color"]')?.setAttribute('content', colour)
}
