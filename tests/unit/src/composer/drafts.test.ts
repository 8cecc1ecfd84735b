import { describe, expect, test } from 'vitest'
import { makeDrafts, REST_MS, type DraftParts } from '../../../../src/composer/drafts'

/** A device: durable store, quick store, and a clock that the test moves. Pages come and go on it. */
function makeDevice() {
  const durable = new Map<string, string>()
  const quick = new Map<string, string>()
  let now = 1000
  let keys = 0
  let timers: { at: number; run: () => void }[] = []
  let broken = false
  const parts: DraftParts = {
    shelf: {
      read: (chat) => (broken ? Promise.reject(new Error('blocked')) : Promise.resolve(durable.get(chat) ?? '')),
      write: (chat, value) => {
        if (broken) return Promise.reject(new Error('blocked'))
        if (value === '') durable.delete(chat)
        else durable.set(chat, value)
        return Promise.resolve()
      },
    },
    quick: { getItem: (key) => quick.get(key) ?? null, setItem: (key, value) => void quick.set(key, value), removeItem: (key) => void quick.delete(key) },
    now: () => now,
    mintKey: () => `key-${++keys}`,
    later: (ms, run) => {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
  }
  return {
    page: () => makeDrafts(parts),
    /** The page dies: its timers with it. */
    crash: () => {
      timers = []
    },
    pass: async (ms: number) => {
      now += ms
      const due = timers.filter((timer) => timer.at <= now)
      timers = timers.filter((timer) => timer.at > now)
      for (const timer of due) timer.run()
      await Promise.resolve()
      await Promise.resolve()
    },
    breakStore: (value: boolean) => {
      broken = value
    },
    durable,
    quick,
  }
}

describe('a draft', () => {
  test('is back after a reload once typing rested', async () => {
    const device = makeDevice()
    device.page().note('ses_1', 'Water the garden')
    await device.pass(REST_MS)
    device.crash()
    expect((await device.page().load('ses_1')).text).toBe('Water the garden')
  })

  test('is back after a page that was hidden in the middle of a word', async () => {
    const device = makeDevice()
    const page = device.page()
    page.note('ses_1', 'Water the gar')
    page.flush()
    device.crash()
    expect((await device.page().load('ses_1')).text).toBe('Water the gar')
  })

  test('is back when the database is blocked', async () => {
    const device = makeDevice()
    device.breakStore(true)
    const page = device.page()
    page.note('ses_1', 'Water')
    page.flush()
    await device.pass(0)
    expect((await device.page().load('ses_1')).text).toBe('Water')
  })

  test('takes the newer of two copies', async () => {
    const device = makeDevice()
    const page = device.page()
    page.note('ses_1', 'old')
    page.flush()
    await device.pass(REST_MS)
    page.note('ses_1', 'newer')
    await device.pass(REST_MS)
    expect((await device.page().load('ses_1')).text).toBe('newer')
  })

  test('that was emptied does not come back', async () => {
    const device = makeDevice()
    const page = device.page()
    page.note('ses_1', 'something')
    page.flush()
    page.note('ses_1', '')
    await device.pass(REST_MS)
    expect((await device.page().load('ses_1')).text).toBe('')
    expect(device.quick.size).toBe(0)
    expect(device.durable.size).toBe(0)
  })

  test('belongs to its chat alone', async () => {
    const device = makeDevice()
    const page = device.page()
    page.note('ses_1', 'one')
    await device.pass(REST_MS)
    expect((await page.load('ses_2')).text).toBe('')
  })

  test('typed while the store was being read is not overwritten by what it held', async () => {
    const device = makeDevice()
    device.page().note('ses_1', 'kept')
    await device.pass(REST_MS)
    const page = device.page()
    const loading = page.load('ses_1')
    page.note('ses_1', 'typed')
    expect((await loading).text).toBe('typed')
  })
})

describe('the key of a send', () => {
  test('is the same for the same text, also after a crash between send and answer', async () => {
    const device = makeDevice()
    const page = device.page()
    page.note('ses_1', 'Go')
    const key = page.claim('ses_1', 'Go')
    expect(page.claim('ses_1', 'Go')).toBe(key)
    device.crash()
    const again = device.page()
    const draft = await again.load('ses_1')
    expect(draft.text).toBe('Go')
    expect(again.claim('ses_1', 'Go')).toBe(key)
  })

  test('is another for another text, and for the same text after it was taken', () => {
    const page = makeDevice().page()
    const first = page.claim('ses_1', 'Go')
    expect(page.claim('ses_1', 'Go on')).not.toBe(first)
    const second = page.claim('ses_1', 'Go')
    page.settle('ses_1', second)
    expect(page.claim('ses_1', 'Go')).not.toBe(second)
  })

  test('a taken text leaves nothing behind, but newer text in the box stays', async () => {
    const device = makeDevice()
    const page = device.page()
    const key = page.claim('ses_1', 'Go')
    page.settle('ses_1', key)
    await device.pass(0)
    expect((await device.page().load('ses_1')).text).toBe('')

    const other = page.claim('ses_2', 'Go')
    page.note('ses_2', 'And then')
    page.settle('ses_2', other)
    await device.pass(REST_MS)
    expect((await device.page().load('ses_2')).text).toBe('And then')
  })
})
