import fc from 'fast-check'

/** Generated Markdown: what models write, what they write wrongly, and what parsers disagree about. */
const word = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('backup', 'snake_case_name', 'the', 'a', '__init__.py', 'x*y', '2 * 3', 'Größe', '週次', 'レポート', 'مرحبا', '👩‍👩‍👧', '𝒳', 'e\u0301', '&amp;', '&lt;b&gt;', '&#128512;', '&nope;', '5 < 6', 'a > b', '#no', '1.', '-', '+', '=', '|', '\\*', '\\`', '\\', '!', '[', ']', '(', ')', 'https://example.org/a_(b)', 'http://x.test/路径。', 'www.example.org.', 'me@example.org', '<https://a.test>', '<b>', '</b>', '<br>', '<!-- c -->', '~', '`', '*', '_', '\t') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
)
const label = fc.constantFrom('one', 'two', 'Two', 'long  label', 'x*y', 'ß')

// At the deepest level the first choice of a `oneof` is taken, which is why each begins with a flat one.
const inlineDepth = { maxDepth: 2, depthIdentifier: fc.createDepthIdentifier() }
const blockDepth = { maxDepth: 2, depthIdentifier: fc.createDepthIdentifier() }

const inline = fc.letrec<{ inline: string; span: string }>((tie) => ({
  inline: fc.array(fc.oneof(inlineDepth, { weight: 3, arbitrary: word }, { weight: 2, arbitrary: tie('span') }), { minLength: 1, maxLength: 3 }).chain((parts) => fc.constantFrom(' ', ' ', ' ', '', '\n', '  \n', '\\\n').map((gap) => parts.join(gap))),
  span: fc.oneof(
    word.map((s) => `\`${s}\``),
    tie('inline').map((s) => `*${s}*`), tie('inline').map((s) => `**${s}**`), tie('inline').map((s) => `***${s}***`), tie('inline').map((s) => `~~${s}~~`),
    tie('inline').map((s) => `**${s}`), tie('inline').map((s) => `*${s}`), word.map((s) => `\`\`${s}\`\``), word.map((s) => `\`${s}`),
    fc.tuple(tie('inline'), word).map(([s, u]) => `[${s}](${u})`), tie('inline').map((s) => `[${s}](https://a.test "t")`), tie('inline').map((s) => `![${s}](https://a.test/i.png)`),
    label.map((l) => `[${l}]`), label.map((l) => `[${l}][]`), fc.tuple(tie('inline'), label).map(([s, l]) => `[${s}][${l}]`), label.map((l) => `![${l}]`),
    tie('inline').map((s) => `[${s}](javascript:alert(1))`),
  ),
})).inline

const lines = (text: string, prefix: string, first = prefix) => text.split('\n').map((line, i) => (i ? prefix : first) + line).join('\n')
const ends = fc.constantFrom('\n', '\n', '\n\n', '\n\n', '\n\n', '\n\n\n', '')
const codeLine = fc.constantFrom('const a = 1', '', '  indented', '```', '~~~', '    ```', '# no heading', '- no item', '[one]: https://no.test', '<!--', 'é 👍', '\t', '``` js', '| a | b |')

const leaf = fc.oneof(
  { weight: 5, arbitrary: inline },
  { weight: 2, arbitrary: fc.tuple(fc.integer({ min: 1, max: 7 }), inline, fc.constantFrom('', ' ', ' #', ' ##')).map(([n, s, e]) => `${'#'.repeat(n)} ${s.replace(/\n/g, ' ')}${e}`) },
  { weight: 2, arbitrary: fc.tuple(inline, fc.constantFrom('===', '---', '-', '=', ' ---', '- -')).map(([s, u]) => `${s}\n${u}`) },
  { weight: 1, arbitrary: fc.constantFrom('---', '***', '* * *', '___', '- - -', ' ---') },
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom('```', '```', '~~~', '````', '  ```', '   ~~~'), fc.constantFrom('', 'js', 'py title="a.py"', ' src/a.ts', 'c++', 'x`y'), fc.array(codeLine, { maxLength: 5 }), fc.constantFrom('same', 'same', 'open', 'longer', 'spaced', 'short')).map(([mark, info, body, close]) => {
    const bare = mark.trim()
    const end = close === 'open' ? [] : [close === 'longer' ? `${bare}${bare[0]}` : close === 'spaced' ? `  ${bare}  ` : close === 'short' ? bare.slice(1) : bare]
    return [`${mark}${info}`, ...body, ...end].join('\n')
  }) },
  { weight: 1, arbitrary: fc.array(codeLine, { minLength: 1, maxLength: 3 }).map((body) => body.map((line) => `    ${line}`).join('\n')) },
  { weight: 3, arbitrary: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom('|', ''), fc.array(fc.array(inline.map((s) => s.replace(/\n/g, ' ')), { minLength: 1, maxLength: 4 }), { maxLength: 4 }), fc.constantFrom('---', ':-:', '--:', ':--', '-', '', '--x')).map(([n, edge, rows, rule]) => {
    const row = (cells: string[]) => `${edge}${cells.join('|')}${edge}`
    return [row(Array.from({ length: n }, (_, i) => ` h${i} `)), row(Array.from({ length: n }, () => rule)), ...rows.map(row)].join('\n')
  }) },
  { weight: 3, arbitrary: fc.tuple(label, fc.constantFrom('https://one.test', '<https://two.test/a b>', 'javascript:x', '/local', 'https://t.test/('), fc.constantFrom('', ' "title"', "\n  'title'", ' (t)', '\n"two\nlines"', ' "open')).map(([l, u, t]) => `[${l}]: ${u}${t}`) },
  { weight: 2, arbitrary: fc.constantFrom('<div>\ntext *a*\n</div>', '<div>', '<!-- open', '<!-- a\n\nb -->', '<script>\n\nlet a\n</script>', '<pre>\n\n```\n</pre>', '<details><summary>x</summary>', '</div>', '<a href="x">', '<?php', '<![CDATA[ x', '<custom-tag>', '<br/>', '<img src=x onerror=alert(1)>') },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\t', '  \n \n', '\u00a0') },
)

const block = fc.letrec<{ block: string; blocks: string; container: string }>((tie) => ({
  blocks: fc.array(fc.tuple(tie('block'), ends), { minLength: 1, maxLength: 2 }).map((parts) => parts.map(([s, e]) => s + e).join('')),
  block: fc.oneof(blockDepth, { weight: 5, arbitrary: leaf }, { weight: 3, arbitrary: tie('container') }),
  container: fc.oneof(
    fc.tuple(fc.constantFrom('- ', '* ', '+ ', '1. ', '2) ', '10. ', '-   ', '- [ ] ', '- [x] '), fc.array(tie('blocks'), { minLength: 1, maxLength: 3 }), fc.constantFrom('\n', '\n', '\n\n', ''), fc.constantFrom('', '', ' ', '   ')).map(([mark, items, gap, pad]) =>
      items.map((item) => lines(item.replace(/\n+$/, ''), pad + ' '.repeat(mark.startsWith('- [') ? 2 : mark.length), pad + mark)).join(`\n${gap}`)),
    fc.tuple(tie('blocks'), fc.boolean()).map(([s, lazy]) => (lazy ? `> ${s.replace(/\n+$/, '')}` : lines(s.replace(/\n+$/, ''), '> '))),
  ),
})).blocks

/** A whole answer: blocks with anything between them, sometimes with carriage returns, sometimes cut off in the middle. */
export const answer = fc.tuple(fc.array(block, { minLength: 1, maxLength: 3 }), fc.constantFrom('\n', '\r\n', '\r', '\n', '\n'), fc.boolean(), fc.nat()).map(([blocks, newline, whole, cut]) => {
  const text = blocks.join('\n').replace(/\n/g, newline)
  return whole ? text : text.slice(0, text.length ? cut % (text.length + 1) : 0)
})

/** Cuts a text anywhere, in code units, also inside a character and between CR and LF. */
export function cutAt(text: string, places: readonly number[]): string[] {
  const cuts = [...new Set(places.map((place) => (text.length ? place % (text.length + 1) : 0)))].sort((a, b) => a - b)
  const parts: string[] = []
  let from = 0
  for (const cut of [...cuts, text.length]) {
    parts.push(text.slice(from, cut))
    from = cut
  }
  return parts
}
