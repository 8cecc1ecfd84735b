// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { QueueItem } from '../../../../server/contract/queue'
import type { Row } from '../../../../server/contract/rows'
import type { Transcript } from '../../../../server/contract/session'
import type { OpenChat } from '../../../../src/sync/port'
import { importedHistory } from '../../../support/imports'
import { makeRig, type Page, type Rig } from './rig'

const SESSION = 'ses_1'
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

/** What happens to a page between two facts. */
const TROUBLES = ['none', 'none', 'none', 'cut', 'refused', 'silent', 'mute', 'hide', 'reload', 'crash', 'doubt', 'older', 'long', 'switch', 'other tab', 'tab behind'] as const
const trouble = fc.record({ what: fc.constantFrom(...TROUBLES), ms: fc.constantFrom(0, 30, 700, 3000) })

class Story {
  page!: Page
  open!: OpenChat
  tabs: Page[] = []

  constructor(readonly rig: Rig) {
    this.begin()
  }

  begin(): void {
    this.page = this.rig.page()
    this.tabs.push(this.page)
    this.open = this.page.sync.open(SESSION)
  }

  async meet(what: (typeof TROUBLES)[number], ms: number): Promise<void> {
    const { rig, page } = this
    const { server } = rig
    if (what === 'cut') server.cut()
    if (what === 'mute') server.mute()
    if (what === 'doubt') page.surroundings.doubt()
    if (what === 'older') void this.open.older()
    if (what === 'refused' || what === 'silent') {
      server.network = what
      server.cut()
    }
    if (what === 'hide' || what === 'long') page.surroundings.show(false)
    if (what === 'reload') {
      page.surroundings.leave()
      page.sync.close()
      this.begin()
    }
    // The page is gone without a goodbye: what it had not written is lost.
    if (what === 'crash') {
      const close = page.sync.close.bind(page.sync)
      page.surroundings.show(false)
      close()
      this.begin()
    }
    if (what === 'switch') {
      page.sync.open('ses_other')
      if (ms > 0) await rig.pass(ms)
      this.open = page.sync.open(SESSION)
    }
    if (what === 'other tab') this.begin()
    if (what === 'tab behind') {
      // A tab that hears nothing any more still has something to write.
      server.mute()
      this.begin()
    }
    if (ms > 0) await rig.pass(what === 'long' ? 70_000 : ms)
  }

  /** Reads back to the beginning. */
  async readBack(): Promise<void> {
    for (let more = true; more; ) {
      let done = false
      void this.open.older().then((found) => {
        more = found
        done = true
      })
      for (let n = 0; !done; n++) {
        expect(n).toBeLessThan(100)
        await this.rig.pass(100)
      }
    }
  }

  async mend(): Promise<void> {
    this.rig.server.network = 'up'
    if (!this.page.surroundings.visible()) this.page.surroundings.show(true)
  }
}

/** What a transcript shows, from where it begins. */
function shown(value: Transcript, from = value.from): unknown {
  const rows = value.order.map((id) => value.rows.get(id)!).filter((row) => row.pos >= from)
  return { head: value.session, queue: value.queue.items, rows, turns: rows.map((row) => value.turns.get(row.turn)) }
}

async function copyOf(page: Page, store: string): Promise<{ rows: Row[]; from: string; queue: readonly QueueItem[] | undefined } | null> {
  const copies = await page.shelf.open(store)
  const record = await copies.page(SESSION)
  const found = await copies.before(SESSION, '\uffff', 10_000)
  copies.close()
  if (!record.ok || !record.value) return null
  const rows = found.ok && found.value ? found.value.rows : []
  // The part for the first paint is a part of the rows, and the same.
  expect(record.value.rows).toEqual(rows.filter((row) => row.pos >= record.value!.rowsFrom))
  return { rows, from: record.value.from, queue: record.value.queue?.items }
}

test(`whatever happens between, page and copy come to what the server holds (seed ${seed})`, { timeout: 60_000 }, async () => {
  const arbitrary = fc.tuple(importedHistory({ steps: 40 }), fc.array(trouble, { minLength: 40, maxLength: 40 }), fc.record({
    mostRows: fc.constantFrom(2, 4, Infinity), pieces: fc.constantFrom(7, Infinity), latency: fc.constantFrom(0, 15, 120, 900), late: fc.constantFrom(0, 0, 60, 500), before: fc.nat(20),
  }))
  await fc.assert(
    fc.asyncProperty(arbitrary, async ([history, troubles, { mostRows, pieces, latency, late, before }]) => {
      const rig = await makeRig()
      rig.server.mostRows = mostRows
      rig.server.pieces = pieces
      rig.server.latency = (path) => (path === '/api/events' ? late : latency)
      const [...appends] = history.appends
      await rig.server.append(...appends.splice(0, before + 1))
      const story = new Story(rig)
      await rig.pass(50)
      for (const [n, append] of appends.entries()) {
        const { what, ms } = troubles[n % troubles.length]!
        await story.meet(what, ms)
        await rig.server.append(append)
        await rig.pass([20, 0, 400][n % 3]!)
        if (what !== 'none') await story.mend()
      }
      await story.mend()
      // The longest a page may be without a stream: a watchdog, then a step of the ladder; then the past in idle time.
      await rig.pass(25_000)
      const { value } = rig.server.store.disk.sessions.get(SESSION)!
      if (value.deleted) {
        expect(story.open.state()).toBe('absent')
        expect(await copyOf(story.page, rig.server.store.id)).toBe(null)
        expect(story.page.sync.list().entries.has(SESSION)).toBe(false)
      } else {
        expect(story.open.freshness()).toBe('live')
        const seen = story.open.value()
        expect(shown(seen)).toEqual(shown(value, seen.from))
        expect(story.page.sync.list().entries.get(SESSION)).toEqual(rig.server.store.disk.sessions.get(SESSION)!.entry)
        const copy = await copyOf(story.page, rig.server.store.id)
        expect(copy?.from).toBe('')
        expect(copy?.queue).toEqual(value.queue.items)
        expect(copy?.rows).toEqual(value.order.map((id) => value.rows.get(id)!))
        await story.readBack()
        expect(shown(story.open.value())).toEqual(shown(value))
      }
      for (const tab of story.tabs) tab.sync.close()
    }),
    { numRuns: Number(process.env.RUNS ?? 40), seed, endOnFailure: true },
  )
})
