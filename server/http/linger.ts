import type { Socket } from 'node:net'

const QUIET_MS = 500
const FLUSH_MS = 5000
const DISCARD_BYTES = 1024 * 1024

/**
 * Ends a connection whose request body was not read, so that the client still gets the answer: half-close, let what keeps arriving be thrown
 * away for a short while, then destroy (spec/server.md §1.5, item 6). Destroying at once would reset the connection under the answer.
 */
export function linger(socket: Socket): void {
  if (socket.destroyed) return
  const atStart = socket.bytesRead
  let quiet: NodeJS.Timeout | undefined
  const flush = setTimeout(() => socket.destroy(), FLUSH_MS)
  const watch = setInterval(() => {
    if (socket.bytesRead - atStart > DISCARD_BYTES) socket.destroy()
  }, 20)
  socket.once('close', () => {
    clearTimeout(flush)
    clearTimeout(quiet)
    clearInterval(watch)
  })
  socket.end(() => {
    clearTimeout(flush)
    if (!socket.destroyed) quiet = setTimeout(() => socket.destroy(), QUIET_MS)
  })
}
