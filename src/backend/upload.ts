import type { Problem } from '../../server/contract/problems'
import { pathOf, type UploadedFile } from '../../server/contract/routes'
import { ProblemError } from './port'

/** What stands between the page and the server while a file goes there. */
export interface UploadOptions {
  /** From 0 to 1. */
  onProgress: (done: number) => void
  signal: AbortSignal
}

/** Sends one file to a chat. Only an XMLHttpRequest tells how far it is. Rejects with `ProblemError`, or with the signal's reason. `base`: as in `ClientParts`. */
export function uploadFile(base: string, session: string, file: File, { onProgress, signal }: UploadOptions): Promise<UploadedFile> {
  return new Promise((resolve, reject) => {
    const form = new FormData()
    // The chat first: the server refuses a foreign one before the file comes.
    form.append('session_id', session)
    form.append('file', file, file.name)
    const request = new XMLHttpRequest()
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => lengthComputable && onProgress(loaded / total)
    request.onload = () => {
      const body = request.response as UploadedFile | Problem | null
      if (request.status === 200 && body && 'id' in body) resolve(body)
      else reject(new ProblemError(request.status, body && 'code' in body ? body : { error: '', code: 'offline' }))
    }
    request.onerror = () => reject(new ProblemError(0, { error: '', code: 'offline' }))
    const abort = () => {
      request.abort()
      reject(signal.reason as Error)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    request.onloadend = () => signal.removeEventListener('abort', abort)
    request.open('POST', base + pathOf('POST /api/upload'))
    request.send(form)
  })
}

/** Where the bytes of a file are to be had. */
export function fileAddress(session: string, id: string): string {
  return `${pathOf('GET /api/attachment')}?${new URLSearchParams({ session_id: session, id }).toString()}`
}

/** False only when the server says that it has no such file. */
export async function isThere(base: string, session: string, id: string): Promise<boolean> {
  const answer = await fetch(base + fileAddress(session, id), { method: 'HEAD', cache: 'no-store' }).catch(() => null)
  return answer?.status !== 404
}
