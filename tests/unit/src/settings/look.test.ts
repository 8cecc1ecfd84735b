import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { applyLook, attributesOf, LOOK_KEY, parseLook, PLAIN_LOOK, type Look } from '../../../../src/settings/look'

describe('the look of a device', () => {
  test('nothing kept, or nonsense, is the plain look', () => {
    expect(parseLook(null)).toEqual(PLAIN_LOOK)
    expect(parseLook('{')).toEqual(PLAIN_LOOK)
    expect(parseLook('{"theme":"purple","skin":7,"contrast":"some"}')).toEqual(PLAIN_LOOK)
  })

  test('a kept look comes back as it was', () => {
    const look: Look = { theme: 'dark', skin: 'moss', text: 'xl', contrast: 'more', motion: 'less' }
    expect(parseLook(JSON.stringify(look))).toEqual(look)
  })

  test('plain values leave no attribute, so that the device decides', () => {
    expect(Object.values(attributesOf(PLAIN_LOOK)).every((value) => value === null)).toBe(true)
  })

  test('the script before first paint sets the same attributes as the page does later', () => {
    const html = readFileSync('index.html', 'utf8')
    const script = /<script>([\s\S]*?)<\/script>/.exec(html)![1]!
    for (const look of [PLAIN_LOOK, { theme: 'light', skin: 'ink', text: 's', contrast: 'normal', motion: 'full' } as Look, { ...PLAIN_LOOK, theme: 'dark' } as Look]) {
      const root = document.documentElement
      for (const name of Object.keys(attributesOf(look))) root.removeAttribute(name)
      localStorage.setItem(LOOK_KEY, JSON.stringify(look))
      runInNewContext(script, { localStorage, document })
      const early = root.getAttributeNames().filter((name) => name.startsWith('data-')).map((name) => [name, root.getAttribute(name)]).sort()
      applyLook(look, root)
      const late = root.getAttributeNames().filter((name) => name.startsWith('data-')).map((name) => [name, root.getAttribute(name)]).sort()
      expect(early).toEqual(late)
    }
  })
})
