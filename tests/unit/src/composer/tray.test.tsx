import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { UploadedFile } from '../../../../server/contract/routes'
import { ProblemError } from '../../../../src/backend/port'
import type { UploadOptions } from '../../../../src/backend/upload'
import { makeTray } from '../../../../src/composer/tray'
import { pressed, query, queryAll } from './page'

interface Upload extends UploadOptions { session: string; file: File; done: (mime?: string) => void; fail: (error: unknown) => void }

let dispose: () => void
const settle = () => new Promise((resolve) => setTimeout(resolve))
const file = (name: string, size = 5, type = 'text/plain') => new File(['x'.repeat(size)], name, { type })

function show() {
  const [chat, setChat] = createSignal('ses_1')
  const [online, setOnline] = createSignal(true)
  const uploads: Upload[] = []
  const kept = new Map<string, string>()
  const gone = new Set<string>()
  const said: string[] = []
  let made = 0
  let left = 0
  const tray = makeTray({
    upload: (session, given, options) =>
      new Promise((resolve, reject) => {
        options.signal.addEventListener('abort', () => reject(options.signal.reason as Error))
        const id = `att_${uploads.length}`
        uploads.push({ ...options, session, file: given, done: (mime = 'text/plain') => resolve({ id, filename: given.name, path: '/x', size: given.size, mime, is_image: false, digest: 'd' } satisfies UploadedFile), fail: reject })
      }),
    isThere: (_, id) => Promise.resolve(!gone.has(id)),
    address: (session, id) => `/api/attachment?session_id=${session}&id=${id}`,
    keep: (id, value) => void kept.set(id, value),
    announce: (words) => void said.push(words),
    make: () => Promise.resolve(`ses_made_${++made}`),
  })
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(() => tray.View({ get chat() { return chat() }, get online() { return online() }, onLeft: () => void left++ }), host)
  return { tray, uploads, kept, gone, said, setChat, setOnline, left: () => left, add: (...files: File[]) => tray.add(chat(), files) }
}

beforeEach(() => {
  URL.createObjectURL ??= () => 'blob:x'
  URL.revokeObjectURL ??= () => undefined
})
afterEach(() => {
  dispose()
  document.body.replaceChildren()
})

describe('files of a message that is written', () => {
  test('nothing is sent before all are there; then they go by their ids, and leave once the message was taken', async () => {
    const { tray, uploads, kept, add } = show()
    add(file('a.txt'), file('b.txt'))
    await settle()
    expect([tray.any('ses_1'), tray.held('ses_1'), tray.given('ses_1')]).toEqual([true, 'Files are still being uploaded', undefined])
    uploads[0]!.onProgress(0.612)
    expect(query('.att').textContent).toContain('61 %')
    expect(query('[role="progressbar"]').getAttribute('aria-valuenow')).toBe('61')
    uploads[0]!.done()
    uploads[1]!.done()
    await settle()
    const given = tray.given('ses_1')!
    expect([tray.held('ses_1'), given.session, given.ids]).toEqual([null, 'ses_1', ['att_0', 'att_1']])
    expect(JSON.parse(kept.get('ses_1')!)).toMatchObject([{ id: 'att_0', name: 'a.txt', session: 'ses_1' }, { id: 'att_1' }])
    tray.sent('ses_1', given)
    expect([tray.any('ses_1'), kept.get('ses_1')]).toEqual([false, ''])
  })

  test('two at once go up, the next when one is there', async () => {
    const { uploads, add } = show()
    add(file('a'), file('b'), file('c'))
    await settle()
    expect(uploads.map((one) => one.file.name)).toEqual(['a', 'b'])
    uploads[0]!.done()
    await settle()
    expect(uploads.map((one) => one.file.name)).toEqual(['a', 'b', 'c'])
  })

  test('one that fails holds the message, says why, and is tried again by a press; the others are not touched', async () => {
    const { tray, uploads, said, add } = show()
    add(file('a.txt'), file('b.txt'))
    await settle()
    uploads[0]!.fail(new ProblemError(507, { error: 'The disk is full; nothing was kept', code: 'store_full' }))
    uploads[1]!.done()
    await settle()
    expect(tray.held('ses_1')).toBe('A file was not uploaded: try it again, or remove it')
    expect(query('.att.bad').textContent).toContain('The disk is full; nothing was kept')
    expect(said).toContain('a.txt: The disk is full; nothing was kept')
    pressed('Try a.txt again')
    await settle()
    uploads[2]!.done()
    await settle()
    expect([tray.held('ses_1'), tray.given('ses_1')!.ids]).toEqual([null, ['att_2', 'att_1']])
  })

  test('without a connection it says so, and goes by itself once the server is back', async () => {
    const { tray, uploads, setOnline, add } = show()
    setOnline(false)
    add(file('a.txt'))
    await settle()
    uploads[0]!.fail(new ProblemError(0, { error: '', code: 'offline' }))
    await settle()
    expect(query('.att').textContent).toContain('no connection; goes once the server is back')
    setOnline(true)
    await settle()
    uploads[1]!.done()
    await settle()
    expect(tray.held('ses_1')).toBeNull()
  })

  test('one that is too big is never sent, and more than twenty are not taken', async () => {
    const { tray, uploads, said, add } = show()
    const big = file('big.iso')
    Object.defineProperty(big, 'size', { value: 20 * 1024 * 1024 })
    add(big)
    await settle()
    expect([uploads.length, query('.att').textContent, queryAll('button').map((one) => one.getAttribute('aria-label'))]).toEqual([0, expect.stringContaining('over 20 MB'), ['Remove big.iso']])
    add(...Array.from({ length: 25 }, (_, i) => file(`f${i}`)))
    expect(queryAll('.att')).toHaveLength(20)
    expect(said).toContain('A message has no more than 20 files.')
    expect(tray.held('ses_1')).not.toBeNull()
  })

  test('one that is removed is stopped, and what has the focus then is the next one, or the box', async () => {
    const { tray, uploads, kept, left, add } = show()
    add(file('a.txt'), file('b.txt'))
    await settle()
    pressed('Remove a.txt')
    await settle()
    expect([uploads[0]!.signal.aborted, document.activeElement?.getAttribute('aria-label')]).toEqual([true, 'Remove b.txt'])
    pressed('Remove b.txt')
    await settle()
    expect([tray.any('ses_1'), left(), kept.get('ses_1')]).toEqual([false, 1, ''])
  })

  test('each chat has its own, and an upload goes on while another chat is open', async () => {
    const { tray, uploads, setChat, add } = show()
    add(file('a.txt'))
    await settle()
    setChat('ses_2')
    expect(queryAll('.att')).toHaveLength(0)
    uploads[0]!.done()
    await settle()
    expect([tray.given('ses_1')!.ids, tray.given('ses_2')]).toEqual([['att_0'], undefined])
  })

  test('a chat that does not exist yet is made once for all its files; what was added behind the message goes to it', async () => {
    const { tray, uploads, kept, setChat, add } = show()
    setChat('new')
    add(file('a'), file('b'))
    await settle()
    uploads[0]!.done()
    uploads[1]!.done()
    await settle()
    const given = tray.given('new')!
    expect([given.session, uploads.map(({ session }) => session)]).toEqual(['ses_made_1', ['ses_made_1', 'ses_made_1']])
    add(file('c'))
    await settle()
    uploads[2]!.done()
    await settle()
    tray.sent('new', given, 'ses_made_1')
    expect([tray.any('new'), tray.given('ses_made_1')!.ids, kept.get('new')]).toEqual([false, ['att_2'], ''])
    add(file('d'))
    await settle()
    expect(uploads[3]!.session).toBe('ses_made_2')
    pressed('Remove d')
    add(file('e'))
    await settle()
    expect(uploads[4]!.session).toBe('ses_made_3')
  })

  test('what an earlier page had on the server stands again, as long as it is there', async () => {
    const { tray, gone, kept } = show()
    gone.add('att_8')
    const one = { id: 'att_7', name: 'a.png', size: 4000, mime: 'image/png', session: 'ses_1' }
    tray.restore('ses_1', JSON.stringify([one, { ...one, id: 'att_8', name: 'b.txt', mime: 'text/plain' }]))
    await settle()
    expect(query<HTMLImageElement>('img.thumb').getAttribute('src')).toBe('/api/attachment?session_id=ses_1&id=att_7')
    expect(query('.att.bad').textContent).toContain('not on the server any more')
    expect([tray.given('ses_1')!.ids, JSON.parse(kept.get('ses_1')!)]).toEqual([['att_7'], [one]])
    tray.restore('ses_2', 'no list at all')
    expect(tray.any('ses_2')).toBe(false)
  })

  test('other files are another message', async () => {
    const { tray, uploads, add } = show()
    add(file('a'))
    await settle()
    uploads[0]!.done()
    await settle()
    const key = (message: string) => tray.given('ses_1')!.keyOf(message, 'key-1')
    const before = [key('x'), key('')]
    expect([key('x'), key('')]).toEqual(before)
    expect(before[0]).not.toBe(before[1])
    expect(before.every((one) => one.length < 200)).toBe(true)
    add(file('b'))
    await settle()
    uploads[1]!.done()
    await settle()
    expect([key('x'), key('')].some((one) => before.includes(one))).toBe(false)
  })
})
