import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeModel, says, startFakeModel, stream } from '../support/fake-model'
import { embeddedHome, type Home } from './embedded-rig'
import { Chat } from './embedded-turn'

describe('files of a message to the embedded agent', () => {
  let fake: FakeModel
  let home: Home
  let chat: Chat

  beforeEach(async () => {
    fake = await startFakeModel()
    home = await embeddedHome(fake.base)
    chat = new Chat(home)
  })
  afterEach(async () => {
    await home.end()
    await fake.close()
    rmSync(home.folder, { recursive: true, force: true })
  })
  const file = (name: string, mime: string, body: string | Buffer) => {
    const path = join(home.folder, 'given', name)
    mkdirSync(join(home.folder, 'given'), { recursive: true })
    writeFileSync(path, body)
    return { id: `att_${name}`, name, mime, size: Buffer.byteLength(body as Buffer), path }
  }
  const sent = (n: number) => (fake.asked()[n]!.messages as { role: string; content: unknown }[]).filter(({ role }) => role === 'user').map(({ content }) => content)
  const notices = () => chat.of('notice').map(({ code, params }) => [code, params?.name])
  const PNG = Buffer.from('\x89PNG and so on', 'latin1')
  const shown = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } }

  it('pictures go as pictures, in later turns too, and their bytes are kept in no context', async () => {
    fake.next(stream(...says('A cat.')), stream(...says('Yes.')))
    await chat.say('What is this?', [file('cat.png', 'image/png', PNG)])
    await chat.say('Sure?')
    expect(sent(0)).toEqual([[{ type: 'text', text: 'What is this?' }, shown]])
    expect(sent(1)).toEqual([[{ type: 'text', text: 'What is this?' }, shown], 'Sure?'])
    expect(JSON.stringify(chat.context)).not.toContain(PNG.toString('base64'))
    expect(notices()).toEqual([])
  })

  it('a picture without words is a message, and one that has gone is told as gone', async () => {
    const picture = file('cat.png', 'image/png', PNG)
    fake.next(stream(...says('A cat.')), stream(...says('It was a cat.')))
    await chat.say('', [picture])
    rmSync(picture.path)
    await chat.say('And?')
    expect(sent(0)).toEqual([[shown]])
    expect(sent(1)).toEqual(['[The picture cat.png is not there any more.]', 'And?'])
  })

  it('text goes as text within bounds, whole characters only, and what is neither is said to be there; each that is not whole has its notice', async () => {
    fake.next(stream(...says('Read.')))
    await chat.say('Read', [file('a.md', 'text/markdown', '# Hello'), file('long.txt', 'text/plain', 'ü'.repeat(40_000)), file('b.bin', 'application/octet-stream', 'x'), { ...file('gone.txt', 'text/plain', 'x'), path: join(home.folder, 'nowhere') }])
    const [text] = sent(0) as [string]
    expect(text).toContain('[The file a.md:]\n# Hello\n[End of a.md]')
    expect(text).toContain(`[The file long.txt, the first 65536 of 80000 bytes:]\n${'ü'.repeat(32_768)}\n[End`)
    expect(text).toContain('[The file b.bin (application/octet-stream, 1 bytes) was given. It is not text, and you cannot read it.]')
    expect(text).not.toContain('\ufffd')
    expect(notices()).toEqual([['file_cut', 'long.txt'], ['file_not_read', 'b.bin'], ['file_not_read', 'gone.txt']])
  })

  it('a model that takes no pictures is told of them in words, the person by a notice, and it is asked once only', async () => {
    fake.next({ status: 400, pieces: [JSON.stringify({ error: { message: 'This model does not support image input.' } })] }, stream(...says('I cannot see it.')), stream(...says('Still not.')))
    expect(await chat.say('What is this?', [file('cat.png', 'image/png', PNG)])).toMatchObject({ outcome: 'completed' })
    await chat.say('Sure?')
    expect(fake.asked()).toHaveLength(3)
    for (const n of [1, 2]) expect(JSON.stringify(sent(n))).toContain('[The picture cat.png was given, but you cannot see pictures.]')
    expect(JSON.stringify(sent(2))).not.toContain('base64')
    expect(notices()[0]).toEqual(['pictures_not_taken', undefined])
  })

  it('a picture that a provider finds too large fails with its words, and is not sent again', async () => {
    fake.next({ status: 400, pieces: [JSON.stringify({ error: { message: 'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum' } })] })
    expect(await chat.say('What is this?', [file('cat.png', 'image/png', PNG)])).toMatchObject({ outcome: 'failed', problem: { words: expect.stringContaining('image exceeds 5 MB') as string } })
    expect(fake.asked()).toHaveLength(1)
  })
})
