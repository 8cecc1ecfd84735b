import { createSignal, Show } from 'solid-js'
import { render } from 'solid-js/web'
import { afterEach, describe, expect, test } from 'vitest'
import type { Queue, QueueItem } from '../../../../server/contract/queue'
import { ProblemError } from '../../../../src/backend/port'
import { QueueCard } from '../../../../src/composer/queue-card'
import { joined, moved } from '../../../../src/composer/queue-edits'
import type { Change, QueueProps } from '../../../../src/composer/queue-port'

let dispose: (() => void) | undefined
afterEach(() => {
  dispose?.()
  document.body.replaceChildren()
})
const settle = () => new Promise((resolve) => setTimeout(resolve))
const item = (id: string, text = id, more: Partial<QueueItem> = {}): QueueItem => ({ id, text, addedAt: 1, by: 'person', ...more })

function show(ids: string[] = ['one', 'two', 'three'], begin: Partial<Pick<QueueProps, 'run' | 'paused' | 'online'>> = {}, kept: Change | null = null) {
  const [queue, setQueue] = createSignal<Queue>({ items: ids.map((id) => item(id)), seq: 1 })
  const [facts, setFacts] = createSignal({ run: { stopping: false } as QueueProps['run'], paused: null as QueueProps['paused'], online: true, ...begin })
  const asked: { verb: string; given: unknown[]; done: () => void; fail: (code: 'queue_item_not_found' | 'offline') => void }[] = []
  const order = (verb: string) => (...given: unknown[]) =>
    new Promise<void>((done, fail) => {
      asked.push({ verb, given, done, fail: (code) => fail(new ProblemError(code === 'offline' ? 0 : 404, { code, error: 'no' })) })
    })
  const said: string[] = []
  const toasts: { text: string; undo?: { label: string; run: () => void } }[] = []
  const given: string[] = []
  let left = 0
  const host = document.body.appendChild(document.createElement('div'))
  dispose = render(
    () => (
      <Show when={queue().items.length > 0}>
        <QueueCard
          queue={queue()}
          run={facts().run}
          paused={facts().paused}
          online={facts().online}
          fresh={false}
          orders={{ change: order('change'), move: order('move'), combine: order('combine'), remove: order('remove'), send: order('send'), restore: order('restore') }}
          announce={(text) => said.push(text)}
          toast={(toast) => toasts.push(toast)}
          give={(text) => given.push(text)}
          kept={{
            load: () => Promise.resolve(kept),
            keep: (change) => {
              kept = change
            },
          }}
          onLeft={() => left++}
        />
      </Show>
    ),
    host,
  )
  const rows = () => [...host.querySelectorAll<HTMLElement>('li')]
  return {
    host, asked, said, toasts, given, rows,
    left: () => left,
    kept: () => kept,
    tell: (items: QueueItem[]) => setQueue({ items, seq: queue().seq + 1 }),
    set: (part: Partial<ReturnType<typeof facts>>) => setFacts({ ...facts(), ...part }),
    texts: () => rows().map((row) => row.querySelector('.qt')?.textContent ?? '(changing)'),
    press: (row: number, does: string) => rows()[row]!.querySelector<HTMLElement>(`[data-does=${does}]`)!.click(),
    key: (row: number, name: string) => rows()[row]!.querySelector<HTMLElement>('[data-does=drag]')!.dispatchEvent(new KeyboardEvent('keydown', { key: name, altKey: true, bubbles: true, cancelable: true })),
    button: (name: string) => [...host.querySelectorAll('button')].find((one) => one.textContent?.trim() === name),
    menu: (name: string) => [...document.querySelectorAll<HTMLElement>('[role=menuitem]')].find((one) => one.textContent?.startsWith(name)),
    change: (row: number, text: string) => {
      rows()[row]!.querySelector<HTMLElement>('[data-does=change]')!.click()
      const field = host.querySelector('textarea')!
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
      return field
    },
  }
}

describe('waiting messages', () => {
  test('stand in their order, numbered and counted', () => {
    const it = show()
    expect(it.texts()).toEqual(['one', 'two', 'three'])
    expect(it.rows().map((row) => row.querySelector('.qn')!.textContent)).toEqual(['1', '2', '3'])
    expect(it.host.textContent).toContain('3 waiting')
    it.tell([item('two')])
    expect(it.said.at(-1)).toBe('1 waiting')
  })

  test('the focus never falls off the card: after a removal it is on the next row, then on the last, and the card says when it leaves with it', async () => {
    const it = show(['one', 'two', 'three'])
    const remove = async (row: number) => {
      const button = it.rows()[row]!.querySelector<HTMLElement>('[data-does=remove]')!
      button.focus()
      button.click()
      await settle()
    }
    const at = () => [document.activeElement?.closest<HTMLElement>('li')?.dataset.item, (document.activeElement as HTMLElement).dataset.does]
    await remove(0)
    expect(at()).toEqual(['two', 'remove'])
    await remove(1)
    expect(at()).toEqual(['two', 'remove'])
    await remove(0)
    expect(document.activeElement).toBe(it.host.querySelector('.queue'))
    expect(it.left()).toBe(0)
    it.tell([])
    expect(it.left()).toBe(1)
  })

  test('joining all leaves the focus on the one that stays', async () => {
    const it = show(['one', 'two'])
    const button = it.button('Join into one')!
    button.focus()
    button.click()
    await settle()
    expect(document.activeElement).toBe(it.rows()[0]!.querySelector('[data-does=change]'))
  })

  test('what was being changed before a reload stands in its field again, or in the box where the message has gone', async () => {
    const change = { id: 'two', was: 'two', text: 'two and a ha' }
    const it = show(['one', 'two'], { online: false }, change)
    await settle()
    expect(it.host.querySelector('textarea')).toBeNull()
    it.set({ online: true })
    await settle()
    expect(it.host.querySelector('textarea')!.value).toBe('two and a ha')
    dispose?.()
    const gone = show(['one'], {}, change)
    await settle()
    expect([gone.given, gone.kept()]).toEqual([['two and a ha'], null])
  })

  test('a change is kept until the server has it; another one cannot throw it away', async () => {
    const it = show(['one', 'two'])
    const field = it.change(0, 'one, please')
    expect(it.kept()).toEqual({ id: 'one', was: 'one', text: 'one, please' })
    it.press(1, 'change')
    expect([document.activeElement, field.value]).toEqual([field, 'one, please'])
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }))
    expect(it.kept()).not.toBeNull()
    it.asked[0]!.done()
    await settle()
    expect(it.kept()).toBeNull()
  })

  test('a change is shown at once as not confirmed, and stays when the server has it', async () => {
    const it = show()
    const field = it.change(1, 'two and a half')
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
    expect(it.texts()).toEqual(['one', 'two and a half', 'three'])
    expect(it.rows()[1]!.getAttribute('aria-busy')).toBe('true')
    expect(it.asked[0]).toMatchObject({ verb: 'change', given: ['two', 'two and a half'] })
    it.asked[0]!.done()
    await settle()
    it.tell([item('one'), item('two', 'two and a half'), item('three')])
    expect(it.texts()).toEqual(['one', 'two and a half', 'three'])
    expect(it.rows()[1]!.hasAttribute('aria-busy')).toBe(false)
  })

  test('a change that was refused stands in its field again with the reason', async () => {
    const it = show()
    it.change(1, 'two and a half').form!.requestSubmit()
    it.asked[0]!.fail('offline')
    await settle()
    expect(it.host.querySelector('textarea')!.value).toBe('two and a half')
    expect(it.host.querySelector('[role=alert]')!.textContent).toContain('Not changed')
  })

  test('Esc leaves a message as it was', () => {
    const it = show()
    it.change(0, 'something else').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }))
    expect(it.texts()).toEqual(['one', 'two', 'three'])
    expect(it.asked).toEqual([])
  })

  test('what was typed into a message that was sent meanwhile goes into the message box', async () => {
    const it = show()
    it.change(0, 'one, but better')
    it.tell([item('two'), item('three')])
    expect(it.given).toEqual(['one, but better'])
    expect(it.toasts.at(-1)!.text).toContain('stands in the message box')
    it.change(0, 'two, but better').form!.requestSubmit()
    it.asked[0]!.fail('queue_item_not_found')
    await settle()
    expect(it.given).toEqual(['one, but better', 'two, but better'])
  })

  test('also when the card leaves with its last message', () => {
    const it = show(['one'])
    it.change(0, 'one, but better')
    it.tell([])
    expect(it.given).toEqual(['one, but better'])
  })

  test('are moved with Alt and the arrows, and stand as they were when that was refused', async () => {
    const it = show()
    it.key(2, 'ArrowUp')
    expect(it.texts()).toEqual(['one', 'three', 'two'])
    expect(it.said.at(-1)).toBe('Now number 2')
    it.key(0, 'ArrowDown')
    expect(it.texts()).toEqual(['three', 'one', 'two'])
    expect(it.asked.map(({ verb, given }) => [verb, ...given])).toEqual([['move', 'three', 'two'], ['move', 'one', 'two']])
    it.asked[0]!.fail('offline')
    it.asked[1]!.fail('offline')
    await settle()
    expect(it.texts()).toEqual(['one', 'two', 'three'])
    expect(it.host.querySelector('[role=alert]')!.textContent).toContain('Not moved')
  })

  test('the first moves no further up, the last no further down', () => {
    const it = show()
    it.key(0, 'ArrowUp')
    it.key(2, 'ArrowDown')
    expect(it.asked).toEqual([])
    it.key(1, 'ArrowDown')
    expect(it.asked[0]!.given).toEqual(['two', undefined])
  })

  test('are joined into one, all or two', () => {
    const it = show()
    it.press(1, 'more')
    it.menu('Join with the next')!.click()
    expect(it.texts()).toEqual(['one', 'two\n\nthree'])
    expect(it.asked[0]).toMatchObject({ verb: 'combine', given: [['two', 'three']] })
    it.button('Join into one')!.click()
    expect(it.texts()).toEqual(['one\n\ntwo\n\nthree'])
    expect(it.button('Join into one')).toBeUndefined()
  })

  test('one that was removed can be put back where it stood', async () => {
    const it = show()
    it.press(1, 'remove')
    expect(it.texts()).toEqual(['one', 'three'])
    expect(it.toasts).toEqual([])
    it.asked[0]!.done()
    await settle()
    expect(it.toasts[0]!.text).toBe('Removed')
    it.toasts[0]!.undo!.run()
    expect(it.asked[1]).toMatchObject({ verb: 'restore', given: [{ text: 'two' }, 'three'] })
  })

  test('one that had been sent before it could be removed is told so, and offers no undo', async () => {
    const it = show()
    it.press(0, 'remove')
    it.asked[0]!.fail('queue_item_not_found')
    await settle()
    expect(it.toasts).toEqual([])
    expect(it.host.textContent).toContain('Not removed: It was sent or removed meanwhile.')
  })

  test('say why they wait, and the next is one press away', () => {
    const it = show(['one', 'two'], { run: null, paused: 'cancelled' })
    expect(it.host.textContent).toContain('Waits because the last answer was stopped.')
    it.button('Send the next')!.click()
    expect(it.asked[0]).toMatchObject({ verb: 'send', given: ['one', false] })
    expect(it.rows()[0]!.textContent).toContain('goes next')
    it.set({ paused: 'failed' })
    expect(it.host.textContent).toContain('failed')
    it.set({ paused: 'interrupted' })
    expect(it.host.textContent).toContain('broke off')
    it.set({ run: { stopping: true }, paused: null })
    expect(it.host.textContent).toContain('Goes on when the run has stopped.')
    expect(it.button('Send the next')).toBeUndefined()
  })

  test('any can be sent now, or instead of what is running', () => {
    const it = show(['one', 'two'], { run: null, paused: 'failed' })
    it.press(1, 'more')
    it.menu('Send now')!.click()
    expect(it.asked[0]).toMatchObject({ verb: 'send', given: ['two', false] })
    expect(it.texts()).toEqual(['two', 'one'])
    it.set({ run: { stopping: false }, paused: null })
    it.press(1, 'more')
    it.menu('Stop and send')!.click()
    expect(it.asked[1]).toMatchObject({ verb: 'send', given: ['one', true] })
  })

  test('offline they are shown and not touched', () => {
    const it = show(['one', 'two'], { online: false })
    expect(it.texts()).toEqual(['one', 'two'])
    expect(it.host.querySelectorAll('button')).toHaveLength(0)
    expect(it.host.textContent).toContain('kept on the server')
  })

  test('words that a run did not take say so', () => {
    const it = show(['one'])
    it.tell([item('steer', 'Leave it', { by: 'steer' }), item('one')])
    expect(it.rows()[0]!.textContent).toContain('before the agent saw it')
  })
})

describe('the order as it will be', () => {
  const items = ['a', 'b', 'c'].map((id) => item(id))
  const ids = (list: readonly QueueItem[]) => list.map(({ id }) => id).join('')
  test('after a move', () => {
    expect(ids(moved(items, 'c', 'a'))).toBe('cab')
    expect(ids(moved(items, 'a'))).toBe('bca')
    expect(ids(moved(items, 'a', 'gone'))).toBe('bca')
    expect(moved(items, 'x', 'a')).toBe(items)
    expect(moved(items, 'a', 'a')).toBe(items)
  })
  test('after a join the first stays in its place', () => {
    expect(joined(items, ['c', 'b']).map(({ id, text }) => [id, text])).toEqual([['a', 'a'], ['b', 'b\n\nc']])
  })
})
