import { open, readFile } from 'node:fs/promises'
import { isRaster } from '../../contract/attachments'
import type { AgentEvent, TurnAttachment } from '../port'
import type { Message, Picture, UserMessage } from './messages'

/** Bytes of one text file, and of all of a message, that go to the model. */
const TEXT_EACH = 64 * 1024
const TEXT_ALL = 256 * 1024

type Notice = AgentEvent & { type: 'notice' }

/**
 * What a model can be given of the files of a message: text as text, within bounds, pictures as pictures, and of anything else that it is there. A notice
 * names each that the model does not have whole.
 */
export async function givenBy(text: string, files: readonly TurnAttachment[]): Promise<{ message: UserMessage; notices: Notice[] }> {
  const parts: string[] = text.trim() === '' ? [] : [text]
  const images: Picture[] = []
  const notices: Notice[] = []
  let left = TEXT_ALL
  for (const { name, mime, size, path } of files) {
    if (isRaster(mime)) images.push({ name, mime, path })
    else if (/^text\/|^application\/json$/.test(mime)) {
      const most = Math.min(TEXT_EACH, left)
      const begun = await beginning(path, Math.min(most, size)).catch(() => null)
      if (begun === null) {
        parts.push(`[The file ${name} was given, but is not there any more.]`)
        notices.push(noticeOf('file_not_read', name, `${name} is not there any more.`))
        continue
      }
      left -= begun.length
      const cut = begun.length < size
      parts.push(`[The file ${name}${cut ? `, the first ${begun.length} of ${size} bytes` : ''}:]\n${wholeCharacters(begun)}\n[End of ${name}]`)
      if (cut) notices.push(noticeOf('file_cut', name, `Of ${name} the model has the beginning only.`))
    } else {
      parts.push(`[The file ${name} (${mime}, ${size} bytes) was given. It is not text, and you cannot read it.]`)
      notices.push(noticeOf('file_not_read', name, `The built-in agent reads text and pictures; ${name} is neither.`))
    }
  }
  return { message: { role: 'user', text: parts.join('\n\n'), ...(images.length > 0 && { images }) }, notices }
}

/** The messages with the bytes of their pictures, for one turn; nothing of this is kept. A picture that has gone is told as gone. */
export async function withPictures(history: readonly Message[]): Promise<Message[]> {
  return Promise.all(history.map(async (message) => {
    if (message.role !== 'user' || !message.images) return message
    const images: Picture[] = []
    let { text } = message
    for (const image of message.images) {
      const bytes = await readFile(image.path).catch(() => null)
      if (bytes) images.push({ ...image, data: bytes.toString('base64') })
      else text += `${text === '' ? '' : '\n\n'}[The picture ${image.name} is not there any more.]`
    }
    return { role: 'user', text, ...(images.length > 0 && { images }) }
  }))
}

/** Instead of its pictures, for a model that takes none. */
export function withoutPictures({ images = [], text }: UserMessage): string {
  return [...(text === '' ? [] : [text]), ...images.map(({ name }) => `[The picture ${name} was given, but you cannot see pictures.]`)].join('\n\n')
}

function noticeOf(code: string, name: string, words: string): Notice {
  return { type: 'notice', code, params: { name }, words }
}

async function beginning(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** A character that the cut parted is left out. */
function wholeCharacters(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true })
}
