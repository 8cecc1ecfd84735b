import { closeSync, copyFileSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fixedChoice } from '../../server/agents/choice'
import { makeScripted } from '../../server/agents/scripted'
import { emptyTranscript, fold } from '../../server/contract/fold'
import { makeMint } from '../../server/contract/ids'
import { Refusal } from '../../server/contract/problems'
import { lastRun } from '../../server/contract/session'
import { makeRuns } from '../../server/runs/runs'
import { systemTimers } from '../../server/runs/timers'
import { Chat } from './chat'
import { openTestStore } from './store-thread'

/**
 * A process that talks to runs over a real store while its disk fills up, and prints what it was answered, one JSON a line. `<folder> disk [<older file>]`: the folder is a disk of
 * its own, small enough to be filled; `<folder> limit`: an ordinary folder, the database itself may not grow.
 */
const [folder = '', mode, older] = process.argv.slice(2)
const tell = (step: string, value: unknown): boolean => process.stdout.write(`${JSON.stringify({ step, value })}\n`)
const ballast = join(folder, 'ballast')

function fillDisk(): void {
  const file = openSync(ballast, 'w')
  try {
    for (const size of [65_536, 4096, 512, 1]) {
      try {
        for (const piece = Buffer.alloc(size, 1); ; ) writeSync(file, piece)
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(file)
  }
}

/** `none`, or the code of the refusal with its words. */
async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    if (error instanceof Refusal) return `${error.problem.code}: ${error.message}`
    return `${(error as { kind?: string }).kind ?? 'error'}: ${(error as Error).message}`
  }
}

async function until(what: string, look: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = Date.now() + 20_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10))) if (await look()) return
  throw new Error(`${what}: not in time`)
}

/** A database of schema 1 for whose copy there is no room, and then there is. */
async function migrating(file: string): Promise<void> {
  const state = join(folder, 'older')
  const empty = await openTestStore({ folder: state })
  await empty.close()
  for (const name of readdirSync(state)) if (name.startsWith('talaria.sqlite')) rmSync(join(state, name))
  copyFileSync(file, join(state, 'talaria.sqlite'))
  fillDisk()
  tell('older, no room', await outcome(openTestStore({ folder: state }).then((store) => store.close())))
  tell('older, left behind', readdirSync(state).filter((name) => name.includes('before')))
  rmSync(ballast)
  const store = await openTestStore({ folder: state })
  tell('older, with room', [(await store.check()).ok, (await store.list({ profile: 'default', limit: 100 })).entries.length, readdirSync(state).filter((name) => name.includes('before')).length])
  await store.close()
  rmSync(state, { recursive: true })
}

async function main(): Promise<void> {
  if (mode === 'disk' && older) await migrating(older)
  const timers = systemTimers()
  const state = join(folder, 'state')
  const store = await openTestStore({ folder: state, ...(mode === 'limit' && { maxBytes: 1_500_000 }) })
  const told: number[] = []
  store.onCommit((batch) => told.push(...batch.map(({ rev }) => rev)))
  const profile = { name: 'default', home: folder, scope: folder, env: {}, isLaunch: true }
  const runs = makeRuns({
    store, timers, mint: makeMint(timers.now, Math.random), agents: { scripted: makeScripted({ timers }) }, choice: fixedChoice('scripted'), defaultWorkspace: join(folder, 'workspace'), workspaceRoots: [folder],
  })
  const heavy = new Chat('ses_heavy')
  for (const append of [heavy.created(), heavy.admitted('trn_1', 'x'), heavy.opened('trn_1', 'row_1')]) await store.append(append)
  let length = 0
  /** Until not even a few words fit any more. */
  const fill = async (): Promise<void> => {
    if (mode === 'disk') fillDisk()
    for (const size of [50_000, 5000, 500, 50]) {
      for (let full = false; !full; ) {
        const append = heavy.grew('trn_1', 'row_1', length, 'x'.repeat(size), { urgency: 'now' })
        full = (await outcome(store.append(append))).startsWith('full')
        if (full) heavy.undo(append)
        else length += size
      }
    }
  }
  const free = async (): Promise<void> => {
    if (mode === 'disk') rmSync(ballast)
    else await store.append(heavy.append([{ type: 'session.deleted' }]))
  }
  const value = async (session: string) => fold(emptyTranscript(), await store.events(session, { afterSeq: 0, limit: 100_000 }))
  const ended = async (session: string) => {
    const run = lastRun([...(await value(session)).turns.values()].at(-1)!)
    return run?.state === 'settled' ? [run.outcome, run.problem?.code ?? null] : null
  }
  const said = async (session: string) => [...(await value(session)).rows.values()].map(({ kind, text }) => `${kind}: ${text.length > 40 ? 'long' : text}`)

  const [before, during] = [(await runs.create(profile, {})).id, (await runs.create(profile, {})).id]
  await runs.start(profile, { session: before, text: '[[say:Said before.]]' })
  await until('the first turn', async () => (await ended(before)) !== null)
  const started = await runs.start(profile, { session: during, text: '[[say:In the middle.]] [[ask:make]] [[say:After.]]' })
  await until('the question', async () => (await value(during)).rows.size > 0 && [...(await value(during)).rows.values()].some((row) => row.kind === 'tool' && row.approval?.state === 'open'))

  await fill()
  const standing = [await store.head(), await said(before), await said(during)]
  const long = 'while full '.repeat(1000)
  tell('decide while full', await outcome(runs.decide(profile, { session: during, choice: 'once' })))
  tell('full', {
    send: await outcome(runs.start(profile, { session: before, text: long })), queue: await outcome(runs.enqueue(profile, { session: before, text: long })), create: await outcome(runs.create(profile, {})),
    // A few bytes may fit into a database that may not grow; on a full disk nothing does.
    ...(mode === 'disk' && { rename: await outcome(runs.rename(profile, before, 'while full')), mark: await outcome(store.markRead(before, 3)) }),
  })
  tell('read while full', { list: (await store.list({ profile: 'default', limit: 10 })).entries.length, window: (await store.window(before, { limit: 10 }))!.rows.length, ok: (await store.check()).ok })
  tell('nothing changed', JSON.stringify(standing) === JSON.stringify([await store.head(), await said(before), await said(during)]))

  await free()
  await until('the end of the run', async () => (await ended(during)) !== null && !runs.live().some(({ run }) => run === started.run))
  tell('with room again', { ended: await ended(during), said: (await said(during)).filter((text) => text.startsWith('answer')) })
  await runs.start(profile, { session: before, text: '[[say:Said after.]]' })
  await until('the last turn', async () => (await said(before)).includes('answer: Said after.') && (await ended(before)) !== null)
  tell('goes on', [await said(before), await ended(before), await outcome(store.markRead(before, 3))])
  await runs.drain()
  await store.close()

  const again = await openTestStore({ folder: state })
  const log = await again.events(during, { afterSeq: 0, limit: 100_000 })
  const whole = fold(emptyTranscript(), log)
  tell('opened again', {
    ok: (await again.check()).ok, gapless: log.every(({ seq }, i) => seq === i + 1), rising: told.every((rev, i) => rev === i + 1),
    rows: isDeepStrictEqual((await again.window(during, { limit: 1000 }))!.rows, whole.order.map((id) => whole.rows.get(id))),
  })
  await again.close()
  tell('end', null)
}

await main().catch((error: unknown) => {
  tell('failed', (error as Error).stack)
  process.exit(1)
})
