import { deflateSync, crc32 } from 'node:zlib'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from '../wire/api'
import { Stage, writeHome } from './stage'

/** Pictures and files of a message reach the model of the real Hermes Agent, and the chat stays of one mind with it. */
describe('files of a message to the real Hermes Agent', () => {
  let stage: Stage
  let session: string
  beforeAll(async () => {
    stage = await Stage.set((folder, model) => writeHome(join(folder, 'home'), model.base, { vision: true, lines: ['agent:', '  image_input_mode: native'] }))
    session = await stage.chat()
  })
  afterAll(() => stage?.strike())

  const upload = async (name: string, mime: string, bytes: Uint8Array): Promise<string> => {
    const form = new FormData()
    form.set('session_id', session)
    form.set('file', new File([Buffer.from(bytes)], name, { type: mime }))
    const answer = await fetch(`${stage.server.url}/api/upload`, { method: 'POST', body: form })
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { path: string }).path
  }
  const sent = async (message: string, attachments: string[]): Promise<string> => {
    const started = await call(stage.server, 'POST /api/chat/start', { session_id: session, message, attachments })
    expect(started.status, JSON.stringify(started.problem)).toBe(200)
    await stage.over(session, started.body.stream_id)
    // Requests without tools are not the turn's: a title is made of the same words.
    return JSON.stringify(stage.model.requests().filter(({ body }) => (body.tools?.length ?? 0) > 0 && JSON.stringify(body).includes(message)).at(-1)?.body.messages)
  }

  it('a picture goes as a picture and a text as text, and neither goes again with the next message', async () => {
    const asked = await sent('@@text seen', [await upload('notes.txt', 'text/plain', Buffer.from('the secret word is xylophone')), await upload('dot.png', 'image/png', png())])
    expect(asked).toContain('xylophone')
    expect(asked).toContain('data:image/png;base64,')
    const pictures = asked.split('data:image/png').length
    const next = await sent('@@text and now', [])
    expect(next.split('data:image/png').length).toBeLessThanOrEqual(pictures)
    const { rows, turns } = await stage.changes(session)
    expect(turns.map(({ runs }) => runs.map(({ outcome }) => outcome))).toEqual([['completed'], ['completed']])
    expect(rows.filter((row) => row.kind === 'user').map((row) => row.text)).toEqual(['@@text seen', '@@text and now'])
    expect(rows.filter((row) => row.kind === 'notice' || row.kind === 'divider')).toEqual([])
  })

  it('a broken picture does not hold up the message', async () => {
    const asked = await sent('@@text without it', [await upload('broken.png', 'image/png', Buffer.concat([png().subarray(0, 20), Buffer.from('nonsense')]))])
    expect(asked).toContain('@@text without it')
    const { turns } = await stage.changes(session)
    expect(turns.at(-1)!.runs.at(-1)!.outcome).toBe('completed')
  })
})

/** A picture of one red dot. */
function png(): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data])
    const out = Buffer.alloc(body.length + 8)
    out.writeUInt32BE(data.length)
    body.copy(out, 4)
    out.writeUInt32BE(crc32(body) >>> 0, body.length + 4)
    return out
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(1)
  head.writeUInt32BE(1, 4)
  head.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.from([0, 255, 0, 0]))), chunk('IEND', Buffer.alloc(0))])
}
