// Measures the contrast of every token pair that the interface uses: node build/contrast.mjs [--table]
// Both modes, all skins, normal and more contrast. Exits 1 if a pair is below its floor or a colour leaves sRGB.
import fs from 'node:fs'
const css = fs.readFileSync(new URL('../src/styles/tokens.css', import.meta.url), 'utf8')
const lin = (L, C, h) => {
  const a = C * Math.cos(h * Math.PI / 180), b = C * Math.sin(h * Math.PI / 180)
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3, s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s]
}
const enc = x => Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)) / 255
const dec = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
const lum = c => { const [r, g, b] = c.map(x => dec(enc(Math.min(1, Math.max(0, x))))); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) }

const num = (s, n) => Number(new RegExp(`--${n}:\\s*([\\d.]+)`).exec(s)[1])
const skins = { sea: [num(css, 'hue-n'), num(css, 'hue-a'), num(css, 'chroma-a')] }
for (const m of css.matchAll(/data-skin="(\w+)"\]\s*\{([^}]*)\}/g)) skins[m[1]] = [num(m[2], 'hue-n'), num(m[2], 'hue-a'), num(m[2], 'chroma-a')]
const parse = s => Object.fromEntries([...s.matchAll(/--([\w-]+):\s*light-dark\((.*)\);/g)].map(m => [m[1], m[2].split(/,\s*(?=oklch)/)]).filter(([, v]) => v.every(x => x.startsWith('oklch'))))
const base = parse(css.split('@media (prefers-contrast')[0])
const more = { ...base, ...parse(css.split(':root[data-contrast="more"] {')[1].split('}')[0]) }
const colour = (set, t, mode, [n, a, c]) => {
  const v = set[t][mode].replace(/var\(--hue-n\)/g, n).replace(/var\(--hue-a\)/g, a).replace(/var\(--chroma-a\)/g, c).replace(/calc\(([\d.]+) \* ([\d.]+)\)/g, (_, x, y) => x * y)
  return lin(...v.replace(/^oklch\(|\).*$/g, '').split('/')[0].trim().split(/\s+/).map(Number))
}
const grounds = ['canvas', 'side', 'raise', 'float', 'well', 'sink', 'hover', 'select'], pairs = []
const add = (ts, bs, floor) => { for (const t of [ts].flat()) for (const b of [bs].flat()) pairs.push([t, b, floor]) }
add(['ink', 'ink-2', 'ink-3', 'accent'], grounds, 4.5)
for (const k of ['need', 'bad', 'good']) add(k, [...grounds, k + '-well'], 4.5)
add('bad', 'need-well', 4.5)
add(['ink', 'ink-2', 'ink-3'], ['need-well', 'bad-well', 'good-well', 'accent-well', 'add-well', 'del-well'], 4.5)
add('accent', 'accent-well', 4.5); add('on-primary', ['primary', 'primary-hover'], 4.5)
add('on-accent', 'accent-fill', 4.5); add('on-need', 'need-fill', 4.5); add('on-bad', 'bad-fill', 4.5)
add(Object.keys(base).filter(t => t.startsWith('syn-')), 'well', 4.5)
add('add-ink', ['add-well', 'add-mark'], 4.5); add('del-ink', ['del-well', 'del-mark'], 4.5); add('ink', ['mark', 'add-mark', 'del-mark'], 4.5)
add(['edge', 'focus'], grounds, 3); add('accent-fill', ['canvas', 'side', 'raise', 'well'], 3); add(['bad-fill', 'good-fill'], 'canvas', 3)
add([1, 2, 3, 4, 5, 6, 7, 8].map(i => 'p' + i), ['canvas', 'side'], 3)

let failed = 0
const worst = new Map()
for (const [skin, s] of Object.entries(skins)) for (const mode of [0, 1]) {
  for (const t of Object.keys(base)) if (!['scrim', 'sh', 'sh-2'].includes(t) && colour(base, t, mode, s).some(x => x < -0.003 || x > 1.003)) { failed++; console.log(`outside sRGB: ${t}, ${['light', 'dark'][mode]}, ${skin}`) }
  for (const [hc, set] of [base, more].entries()) for (const [t, b, floor] of pairs) {
    const r = ratio(colour(set, t, mode, s), colour(set, b, mode, s)), k = [t, b, mode, hc].join()
    worst.set(k, Math.min(worst.get(k) ?? 99, r))
    if (r < floor) { failed++; console.log(`${r.toFixed(2)} < ${floor}: ${t} on ${b}, ${['light', 'dark'][mode]}, ${skin}${hc ? ', more contrast' : ''}`) }
  }
}
if (process.argv.includes('--table')) for (const [t, b, floor] of pairs) console.log(`| ${t} on ${b} | ${[0, 1].map(m => ratio(colour(base, t, m, skins.sea), colour(base, b, m, skins.sea)).toFixed(2)).join(' | ')} | ${[0, 1].map(m => worst.get([t, b, m, 0].join()).toFixed(2)).join(' | ')} | ${floor} |`)
// What an added skin may set: any hue, chroma up to 0.10 (the browser maps what sRGB cannot show)
for (let h = 0; h < 360; h += 6) for (const c of [0, 0.05, 0.1]) for (const mode of [0, 1]) for (const [t, b, floor] of pairs) {
  const r = ratio(colour(base, t, mode, [h, h, c]), colour(base, b, mode, [h, h, c]))
  if (r < floor) { failed++; console.log(`${r.toFixed(2)} < ${floor}: ${t} on ${b}, ${['light', 'dark'][mode]}, hue ${h}, chroma ${c}`) }
}
console.log(`${pairs.length} pairs × 2 modes × ${Object.keys(skins).length} skins × 2 contrasts, and any hue at three chromas: ${failed} below the floor`)
process.exit(failed ? 1 : 0)
