import { afterEach, expect, test } from 'vitest'
import { ProblemError } from '../../../../src/backend/port'
import { frames, stage, type Stage } from './stage'

let on: Stage | null = null
afterEach(() => {
  on?.leave()
  on = null
})

const find = <T extends HTMLElement>(selector: string): T | null => on!.root.querySelector<T>(selector)
const shown = async (selector: string) => {
  for (const end = Date.now() + 10_000; !find(selector); ) {
    if (Date.now() > end) throw new Error(`${selector} did not come: ${on!.root.textContent}`)
    await frames(1)
  }
}
const two = (story: Stage['story']) => void story.ask('t1', 'First').answer('a', 'One.').close('a').settle().ask('t2', 'Second').answer('b', 'Two.').close('b').settle()
const open = async () => {
  find('.tx-pen button')!.click()
  await shown('.tx-edit textarea')
}
const type = (text: string) => {
  const field = find<HTMLTextAreaElement>('.tx-edit textarea')!
  field.value = text
  field.dispatchEvent(new InputEvent('input', { bubbles: true }))
}
const key = (name: string, more: KeyboardEventInit = {}) => find('.tx-edit textarea')!.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...more }))
const send = async () => {
  find('.tx-edit button[type=submit]')!.click()
  await frames(2)
}

test('the last message of a person can be edited, once its turn is over', async () => {
  on = await stage(two)
  expect(on.root.querySelectorAll('.tx-pen')).toHaveLength(1)
  expect(on.root.querySelectorAll('.tx-turn')[1]!.querySelector('.tx-pen button')!.getAttribute('aria-label')).toBe('Edit this message')
  on.story.ask('t3', 'Third')
  await on.show()
  expect(on.root.querySelectorAll('.tx-pen')).toHaveLength(0)
})

test('a change is sent in the place of the message, with its files; Esc puts it back as it was', async () => {
  on = await stage(two)
  await open()
  expect(document.activeElement).toBe(find('.tx-edit textarea'))
  expect(find<HTMLTextAreaElement>('.tx-edit textarea')!.value).toBe('Second')
  type('Second, but better')
  key('Escape')
  await frames(1)
  expect(find('.tx-edit')).toBeNull()
  expect(document.activeElement).toBe(find('.tx-pen button'))
  await open()
  expect(find<HTMLTextAreaElement>('.tx-edit textarea')!.value).toBe('Second')
  type('Second, but better')
  key('Enter')
  await frames(2)
  expect(on.edited).toEqual([{ row: 't2.ask', text: 'Second, but better', files: [] }])
  expect(find('.tx-edit')).toBeNull()
})

test('what was not taken stays, with the reason; blank is not sent', async () => {
  on = await stage(two, { edit: () => Promise.reject(new ProblemError(409, { error: 'This message cannot be edited any more.', code: 'nothing_to_edit' })) })
  await open()
  type('  ')
  await send()
  expect(on.edited).toEqual([])
  type('Better')
  await send()
  await shown('.tx-edit [role=alert]')
  expect(find('.tx-edit [role=alert]')!.textContent).toBe('Not sent: This message cannot be edited any more.')
  expect(find<HTMLTextAreaElement>('.tx-edit textarea')!.value).toBe('Better')
})

test('without a server it says so, keeps the words, and sends nothing', async () => {
  on = await stage(two)
  await open()
  on.setOnline(false)
  await frames(1)
  expect(find('.tx-edit')!.textContent).toContain('Not connected.')
  type('Better')
  await send()
  key('Enter')
  expect(on.edited).toEqual([])
  on.setOnline(true)
  await on.again()
  await open()
  await frames(2)
  expect(find<HTMLTextAreaElement>('.tx-edit textarea')!.value).toBe('Better')
})

test('words of a message that goes away meanwhile go to the message box; those that were sent do not', async () => {
  on = await stage(two)
  await open()
  type('Better')
  on.story.say({ type: 'rows.retracted', rows: ['t2.ask', 'b'], turns: ['t2'], why: 'edit', counted: 2 })
  await on.show()
  expect(on.said).toContain('put back: Better')
  on.leave()
  on = await stage(two, { edit: () => Promise.reject(new ProblemError(503, { error: 'Not connected.', code: 'offline' })) })
  await open()
  type('Best')
  await send()
  await shown('.tx-edit [role=alert]')
  on.story.say({ type: 'rows.retracted', rows: ['t2.ask', 'b'], turns: ['t2'], why: 'edit', counted: 2 })
  await on.show()
  expect(on.said.filter((words) => words.startsWith('put back'))).toEqual([])
})

test('a divider says what the agent remembers from here on', async () => {
  on = await stage((story) => {
    story.ask('t1', 'First')
    const { n, pos } = { n: 50, pos: '1z' }
    story.say({ type: 'row.opened', kind: 'divider', row: 'd', n, pos, turn: 't1', run: 't1.run', divider: { code: 'agent_reseeded' } })
  })
  await shown('.tx-mk')
  expect(find('.tx-mk')!.textContent).toContain('The agent starts afresh here')
})
