import { describe, expect, it } from 'vitest'
import type { HermesEvent } from '../../../../../server/agents/hermes/protocol/events'
import { Router } from '../../../../../server/agents/hermes/router'

const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const delta = (text: string): HermesEvent => ({ type: 'message.delta', payload: { text } })

function rig() {
  const log: string[] = []
  const router = new Router({ pause: () => log.push('pause'), resume: () => log.push('resume'), report: (error) => log.push((error as Error).message) })
  const told: string[] = []
  const tell = (event: HermesEvent): void => void told.push(event.type === 'message.delta' ? event.payload.text : event.type)
  return { router, log, told, tell, send: (session: string, text: string) => router.take({ session, event: delta(text) }) }
}

describe('events on their way to the listeners of their sessions', () => {
  it('pauses the connection once however many are held up, and resumes it when the last one is not', async () => {
    const { router, log, send } = rig()
    const open: (() => void)[] = []
    for (const live of ['a', 'b']) router.listen(live, () => new Promise<void>((resolve) => open.push(resolve)))
    send('a', '1')
    send('b', '1')
    send('a', '2')
    expect([log, open.length]).toEqual([['pause'], 2])
    open[0]!()
    await rest()
    // The next one of that session is told, and held up again.
    expect([log, open.length]).toEqual([['pause'], 3])
    open[1]!()
    open[2]!()
    await rest()
    expect(log).toEqual(['pause', 'resume'])
  })

  it('ends with the listener: what waits for it is told to nobody, and one that comes later begins anew', async () => {
    const { router, told, tell, send } = rig()
    let open = (): void => undefined
    const end = router.listen('a', () => new Promise<void>((resolve) => (open = resolve)))
    send('a', '1')
    send('a', '2')
    end()
    end()
    router.listen('a', tell)
    send('a', '3')
    await rest()
    expect(told).toEqual([])
    open()
    await rest()
    expect(told).toEqual(['3'])
    expect(router.listeners).toBe(1)
  })

  it('a listener that comes for another takes its place, and the old one\'s end does not end it', async () => {
    const { router, told, tell, send } = rig()
    const end = router.listen('a', () => undefined)
    router.listen('a', tell)
    end()
    send('a', '1')
    await rest()
    expect(told).toEqual(['1'])
  })

  it('holds for a session without a listener, within bounds, until the connection is lost', async () => {
    const { router, told, tell, send } = rig()
    for (let i = 0; i < 600; i++) send('a', String(i))
    for (let i = 0; i < 63; i++) send(`s${i}`, 'x')
    router.listen('a', tell)
    await rest()
    expect(told).toEqual(Array.from({ length: 500 }, (_, i) => String(i + 100)))
    router.forget()
    router.listen('s1', tell)
    send('a', 'still')
    await rest()
    expect(told.slice(500)).toEqual(['still'])
    // The oldest of too many goes.
    for (let i = 0; i < 70; i++) send(`t${i}`, 'y')
    router.listen('t0', tell)
    router.listen('t69', tell)
    await rest()
    expect(told.slice(501)).toEqual(['y'])
  })

  it('gives nothing of what an answer covers, and nothing that belongs to no session or is of an unknown kind', async () => {
    const { router, told, tell, send } = rig()
    send('a', 'old')
    const mark = router.mark
    send('a', 'new')
    router.forgetBefore('a', mark)
    router.take({ session: '', event: delta('nobody') })
    router.take({ session: 'a', event: null })
    router.listen('a', tell)
    expect(told).toEqual([])
    await rest()
    expect(told).toEqual(['new'])
    // One that is listened to has had its events already.
    send('a', 'more')
    router.forgetBefore('a', router.mark)
    expect(told).toEqual(['new', 'more'])
  })
})
