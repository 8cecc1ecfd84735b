// `node build/icons.mjs`: draws the mark, four slanted strokes, as public/icons/*.svg and, through the browser of this machine, as PNG. Its results are committed; run it when the mark changes.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { root } from './ensure.mjs'

const folder = join(root, 'public/icons')
const ground = '#16242a'
const wing = '#f4f8f8'
/** Feet and heads of the strokes on a field of 96: each shorter than the one before. */
const strokes = [
  [18, 72, 31, 22],
  [38, 72, 48, 34],
  [57, 72, 65, 43],
  [75, 72, 80, 53],
]

/** `field`: how much of the square the mark takes; `round`: the radius of the plate's corners, of 96. */
function draw(field, round) {
  const shift = (96 - 96 * field) / 2
  const lines = strokes.map(([x1, y1, x2, y2]) => `<path d="M${x1} ${y1}L${x2} ${y2}"/>`).join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" rx="${round}" fill="${ground}"/><g transform="translate(${shift} ${shift}) scale(${field})" fill="none" stroke="${wing}" stroke-width="11" stroke-linecap="round">${lines}</g></svg>`
}

const plate = draw(0.8, 21)
/** Platforms cut a maskable icon to their own shape: the mark stays within the inner four fifths. */
const masked = draw(0.64, 0)
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const page = await browser.newPage()
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'icon.svg'), `${plate}\n`)
for (const [name, svg, size] of [['icon-192', plate, 192], ['icon-512', plate, 512], ['maskable-512', masked, 512], ['icon-180', draw(0.8, 0), 180]]) {
  await page.setViewportSize({ width: size, height: size })
  await page.setContent(`<style>html,body{margin:0;background:transparent}svg{display:block;width:${size}px;height:${size}px}</style>${svg}`)
  writeFileSync(join(folder, `${name}.png`), await page.screenshot({ omitBackground: true }))
}
await browser.close()
