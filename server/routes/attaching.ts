import type { Attachments } from '../attachments/port'
import type { Attach } from '../runs/port'

/** How the files that a request names are found, for the domain to call when no receipt answers; undefined where it says nothing of files: what has some keeps them. */
export function attaching(attachments: Attachments, input: { session_id: string; attachments?: readonly unknown[] | null | undefined }): Attach | undefined {
  const given = input.attachments
  return given == null ? undefined : () => attachments.claim(input.session_id, given)
}
