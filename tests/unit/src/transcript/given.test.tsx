import { afterEach, describe, expect, test } from 'vitest'
import { stage, type Stage } from './stage'

let it: Stage | undefined
afterEach(() => {
  it?.leave()
  document.body.replaceChildren()
})
const until = async (done: () => boolean) => {
  for (const end = Date.now() + 10_000; !done(); await new Promise((resolve) => setTimeout(resolve, 5))) if (Date.now() > end) throw new Error(`It did not happen: ${document.body.innerHTML}`)
}
const PICTURE = { id: 'att_1', name: 'a b&c.png', size: 1_200_000, mime: 'image/png', digest: 'd' }
const asked = (text: string, attachments: (typeof PICTURE)[]) => stage((story) => void story.say({ type: 'turn.admitted', turn: 't1', row: 't1.ask', n: 1, pos: '10', text, source: 'person', attachments }))

describe('a message with files', () => {
  test('shows pictures small, and everything else as a chip that saves it, with addresses of this chat', async () => {
    it = await asked('Look', [PICTURE, { ...PICTURE, id: 'att_2', name: 'x.svg', mime: 'text/plain', size: 700 }])
    await until(() => it!.root.querySelectorAll('.tx-files li').length === 2)
    const [open, save] = [...it.root.querySelectorAll<HTMLAnchorElement>('.tx-files a')]
    const address = `/api/attachment?session_id=${it.story.session}&id=att_1`
    expect([open!.getAttribute('href'), open!.target, open!.rel, open!.getAttribute('aria-label'), open!.querySelector('img')!.getAttribute('src')]).toEqual([address, '_blank', 'noopener', 'Open a b&c.png', address])
    expect([save!.download, save!.textContent, save!.getAttribute('aria-label')]).toEqual(['x.svg', 'x.svg700\u00a0B', 'Save x.svg, 700\u00a0B'])
  })

  test('a picture that cannot be shown, as offline, is a chip', async () => {
    it = await asked('Look', [PICTURE])
    await until(() => it!.root.querySelector('.tx-files img') !== null)
    it.root.querySelector('.tx-files img')!.dispatchEvent(new Event('error'))
    await until(() => it!.root.querySelector('.tx-files a.att') !== null)
    expect(it.root.querySelector('.tx-files')!.textContent).toBe('a b&c.png1.2\u00a0MB')
  })

  test('without words it is called by its files', async () => {
    it = await asked('', [PICTURE])
    expect([it.root.querySelector('h2')!.textContent, it.root.querySelector('h2')!.classList.contains('sr'), it.root.querySelector('section')!.getAttribute('aria-label')]).toEqual(['a b&c.png', true, 'a b&c.png'])
  })
})
