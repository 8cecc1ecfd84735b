import type { AgentEvent, TurnAttachment } from '../port'
import { HermesFault } from './port'
import type { HermesProgram } from './port'

/** What Hermes takes as a picture; it looks at the name's ending and at the bytes (spec/hermes-rpc.md §3). */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/**
 * Gives the files of a message to a live session before it is submitted: pictures go along with the next message by themselves, any other file is named in
 * its text (recording 14). `text` is what to submit. A file that Hermes does not take has a notice, and the message goes without it. Rejects with
 * `HermesFault` only where the program itself is not to be had.
 */
export async function attach(program: HermesProgram, live: string, text: string, files: readonly TurnAttachment[]): Promise<{ text: string; notices: AgentEvent[]; detach(): Promise<void> }> {
  const refs: string[] = []
  const pictures: string[] = []
  const notices: AgentEvent[] = []
  for (const { name, mime, path } of files) {
    try {
      if (PICTURES.has(mime)) {
        const { path: taken } = await program.call('image.attach', { session_id: live, path })
        if (taken !== undefined) pictures.push(taken)
      } else {
        const { ref_text: ref } = await program.call('file.attach', { session_id: live, path, name })
        if (ref) refs.push(ref)
      }
    } catch (error) {
      if (!(error instanceof HermesFault) || error.code !== 'rpc') throw error
      notices.push({ type: 'notice', code: 'file_not_read', params: { name }, words: error.message })
    }
  }
  return {
    text: refs.length > 0 ? `${refs.join(' ')}\n\n${text}` : text,
    notices,
    // What is not sent after all must not go with the next message.
    detach: async () => {
      for (const path of pictures) await program.call('image.detach', { session_id: live, path }).catch(() => undefined)
    },
  }
}
