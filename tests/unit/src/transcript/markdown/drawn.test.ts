import { Lexer } from 'marked'
import { expect, test, vi } from 'vitest'
import { safeAddress } from '../../../../../src/transcript/markdown/links'
import { makeMarkdown } from '../../../../../src/transcript/markdown/stream'
import { words } from './words'

function draw(text: string, finish = true): HTMLElement {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  markdown.push(text)
  if (finish) markdown.finish()
  return into
}

test('an address with another scheme than http, https and mailto is never set, however it is disguised', () => {
  for (const href of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', ' \u0001javascript:alert(1)', 'vbscript:x', 'data:text/html,<script>', 'file:///etc/passwd', 'blob:https://a', '//a.test', '/local', '#x', 'src/a.ts', 'http:']) {
    expect(safeAddress(href), href).toBeNull()
  }
  expect(safeAddress('https://a.test/a_(b)')).toBe('https://a.test/a_(b)')
  expect(safeAddress('mailto:a@b.test')).toBe('mailto:a@b.test')
})

test('links in the text keep that rule, also through entities and definitions, and open elsewhere without telling where from', () => {
  const into = draw('[a](javascript:alert(1)) [b](&#106;avascript:x) [c][d] <javascript:x> [ok](https://a.test "t") ![p](javascript:x)\n\n[d]: javascript:y\n')
  const links = [...into.querySelectorAll('a')]
  expect(links.map((link) => link.getAttribute('href'))).toEqual(['https://a.test/'])
  expect(links[0]!.rel).toBe('noopener noreferrer')
  expect(links[0]!.target).toBe('_blank')
  expect(into.textContent).toContain('a b c')
})

test('HTML in the text is text, and a picture is a link: nothing is loaded', () => {
  const into = draw('<img src=x onerror=alert(1)> <svg onload=alert(1)>\n\n<style>a{}</style>\n\n<iframe src="x"></iframe>\n\n![chart](https://a.test/c.png)\n\na <b>bold</b> word<br>next\n')
  expect(into.querySelector('img, svg, style, iframe, b, script')).toBeNull()
  expect(into.textContent).toContain('<img src=x onerror=alert(1)>')
  expect(into.querySelector('a.tx-picture')!.textContent).toBe('Picture: chart')
  expect(into.querySelectorAll('br').length).toBe(1)
})

test('headings of an answer begin below the question of its turn and leave no level out, whatever marks they have', () => {
  const outline = (text: string) => [...draw(text).querySelectorAll('h1, h2, h3, h4, h5, h6')].map((node) => node.localName)
  expect(outline('# a\n\n## b\n\n###### c\n\nd\n===\n')).toEqual(['h3', 'h4', 'h5', 'h3'])
  expect(outline('### a\n\ntext\n\n> #### b\n\n## c\n\n### d\n')).toEqual(['h3', 'h4', 'h3', 'h4'])
  expect(outline('## a\n\n[x]\n\n#### b [x]\n\n[x]: https://a.test\n')).toEqual(['h3', 'h4'])
  expect(draw('## a\n').querySelector('h3')!.className).toBe('tx-h2')
})

test('names with underscores stay as they are written', () => {
  const into = draw('snake_case_name and __init__.py and _x_ but *really* **so**')
  expect(into.textContent).toBe('snake_case_name and __init__.py and _x_ but really so')
  expect(into.querySelectorAll('em, strong').length).toBe(2)
})

test('bold text beside CJK may begin and end with punctuation', () => {
  expect([...draw('**注意：**请先备份。然后**「開く」**を押す。**bold**。 ** no **').querySelectorAll('strong')].map((node) => node.textContent)).toEqual(['注意：', '「開く」', 'bold'])
})

test('a single newline breaks the line', () => {
  expect(draw('one\ntwo').querySelectorAll('br').length).toBe(1)
})

test('a bare address ends before CJK and closing punctuation and keeps balanced parentheses', () => {
  const hrefs = [...draw('见 https://a.test/x。然后 https://b.test/a_(b)) and (https://c.test/d).').querySelectorAll('a')].map((link) => link.getAttribute('href'))
  expect(hrefs).toEqual(['https://a.test/x', 'https://b.test/a_(b)', 'https://c.test/d'])
})

test('references are decoded in prose and not in code', () => {
  const into = draw('a &amp; b &lt;c&gt; &#128512; &nope; `&amp;`')
  expect(into.textContent).toBe('a & b <c> 😀 &nope; &amp;')
})

test('a quote with a list inside a list item is drawn, where the library alone fails', () => {
  expect(draw('- [x] > `\n  > -\n').querySelector('li')!.textContent).toContain('> `')
})

test('text that the lexer fails on is shown as it is written', () => {
  const failing = vi.spyOn(Lexer.prototype, 'blockTokens').mockImplementation(() => {
    throw new Error('no luck')
  })
  const into = draw('one **two**\n\nthree')
  failing.mockRestore()
  expect(into.textContent).toBe('one **two**\n\nthree')
})

test('a table stands in a named scroller that takes the focus, with its alignment as classes and never as a style', () => {
  const into = draw('| Night | Ran for |\n|---|--:|\n| Mon | 18 min |\n| `a \\| b` | 2 |\n')
  const scroller = into.querySelector<HTMLElement>('.tx-scroller')!
  expect(scroller.tabIndex).toBe(0)
  expect(scroller.getAttribute('role')).toBe('region')
  expect(scroller.getAttribute('aria-label')).toBe('Table: Night, Ran for')
  expect(into.querySelectorAll('td.tx-end').length).toBe(2)
  expect(into.querySelector('td code')!.textContent).toBe('a | b')
  expect(into.querySelector('[style]')).toBeNull()
})

test('a long code block can be folded, a short one cannot; language and file name stand in its head', () => {
  const long = draw(`\`\`\`ts title="src/a.ts"\n${'x\n'.repeat(41)}\`\`\`\n`)
  expect(long.querySelector('.tx-fold')!.textContent).toBe('Show all 41 lines')
  expect(long.querySelector('figcaption span')!.textContent).toBe('src/a.ts')
  expect(long.querySelector<HTMLElement>('figure')!.dataset.lang).toBe('ts')
  expect(draw(`\`\`\`\n${'x\n'.repeat(40)}\`\`\`\n`).querySelector('.tx-fold')).toBeNull()
})

test('task items say their state in words', () => {
  const boxes = [...draw('- [x] a\n- [ ] b\n\n  loose\n').querySelectorAll('.tx-box')].map((box) => box.getAttribute('aria-label'))
  expect(boxes).toEqual(['Done', 'Open'])
})

test('a definition that comes last reaches the text before it, and one of the same label that comes later does not', () => {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  markdown.push('See [the docs][d] and [d].\n\nMore text.\n\n')
  expect(into.querySelector('a')).toBeNull()
  markdown.push('[d]: https://first.test\n\n[d]: https://second.test\n\nend')
  expect([...into.querySelectorAll('a')].map((link) => link.getAttribute('href'))).toEqual(['https://first.test/', 'https://first.test/'])
  markdown.finish()
  expect(into.querySelectorAll('a').length).toBe(2)
})

test('while text is being written no mark of it shows before it has a meaning', () => {
  for (const [written, shown] of [
    ['some **bo', 'some bo'], ['some **bold*', 'some bold'], ['some **', 'some '], ['`co', 'co'], ['a ~~b', 'a b'], ['***x', 'x'], ['see [docs](https://a.te', 'see docs'], ['list:\n-', 'list:'], ['title\n=', 'title'],
    ['x\n``', 'x'], ['- **bold** and *it', 'bold and it'], ['2 * 3', '2 * 3'], ['see:\n\n| Step | Res', 'see:'], ['see:\n| Step | Result |\n|--', 'see:'], ['| a | b |\n|---|---|\n| 1', 'ab1'], ['| just a bar', ''], ['a **b** c *', 'a b c '],
  ]) {
    expect(draw(written!, false).textContent!.trimEnd(), written).toBe(shown!.trimEnd())
  }
})

test('a code block grows without its closing fence showing up as code', () => {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  for (const char of '```js\nlet a\n```\nafter') {
    markdown.push(char)
    expect(into.textContent).not.toContain('`\n')
    if (into.querySelector('code')) expect(into.querySelector('code')!.textContent).not.toContain('``')
  }
  expect(into.querySelector('code')!.textContent).toBe('let a')
})

test('blocks that are closed keep their nodes while the text goes on', () => {
  const into = document.createElement('div')
  const markdown = makeMarkdown(into, { document, words })
  markdown.push('first\n\n- a\n- b\n')
  const paragraph = into.children[0]
  const item = into.querySelector('li')
  markdown.push('- c\n- d')
  expect(into.children[0]).toBe(paragraph)
  expect(into.querySelector('li')).toBe(item)
  expect(into.querySelectorAll('li').length).toBe(4)
})
