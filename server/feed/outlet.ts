import type { ServerResponse } from 'node:http'
import type { Timers } from '../agents/port'

/** More than this waiting before a write, in bytes, and the reader is slow. One frame of any size may stand above it. */
export const OUTLET_LIMIT = 1024 * 1024
/** How long a reader may take nothing at all, ms. */
export const WRITE_DEADLINE_MS = 20_000

const KEEPALIVE_MS = 15_000

/** One reader's end of a stream. Frames are shared: the same bytes go to every reader. */
export interface Outlet {
  /** Never waits and never throws. A reader that is too slow is cut off here, alone; it resumes by its cursor. */
  send(frame: Uint8Array): void
  /** True when nothing that was sent still waits. A sign of life is for such a reader alone: to another it would be one more thing to wait for. */
  readonly idle: boolean
  /** Resolves when what was sent has left, or the reader is gone. */
  drained(): Promise<void>
  end(): void
  readonly closed: boolean
  onClose(listener: () => void): void
}

/** Opens an event stream on Node's own response: no copy and no encoding for each reader (spec/packages.md §3). */
export function openOutlet(response: ServerResponse, timers: Timers, slow: () => void): Outlet {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' })
  response.flushHeaders()
  response.socket?.setNoDelay(true)
  // A reader whose machine went away says nothing; the kernel finds out.
  response.socket?.setKeepAlive(true, KEEPALIVE_MS)
  const { socket } = response.req
  const listeners: (() => void)[] = []
  let waiting: (() => void)[] = []
  let closed = response.destroyed || socket.destroyed
  let dropped = false
  let cancelDeadline: (() => void) | undefined
  let sent = 0
  let taken = 0

  const drop = () => {
    if (closed || dropped) return
    dropped = true
    slow()
    response.destroy()
  }
  /** One timer at a time, whatever the number of frames: it looks whether anything was taken since it was set. */
  const watch = () => {
    const before = taken
    cancelDeadline = timers.after(WRITE_DEADLINE_MS, () => {
      cancelDeadline = undefined
      if (taken === sent) return
      if (taken === before) drop()
      else watch()
    })
  }
  const wake = () => {
    const now = waiting
    waiting = []
    for (const go of now) go()
  }
  const gone = () => {
    socket.off('close', gone)
    if (closed) return
    closed = true
    cancelDeadline?.()
    wake()
    for (const listener of listeners) listener()
  }
  response.on('drain', wake)
  response.on('error', () => response.destroy())
  response.once('close', gone)
  // A response that stands behind another one on its connection is never told that the connection has closed.
  socket.once('close', gone)

  return {
    send(frame) {
      if (closed || dropped || response.writableEnded) return
      if (response.writableLength > OUTLET_LIMIT) return drop()
      sent++
      response.write(frame, () => taken++)
      if (!cancelDeadline) watch()
    },
    get idle() {
      return taken === sent
    },
    drained() {
      if (closed || dropped || !response.writableNeedDrain) return Promise.resolve()
      return new Promise((resolve) => waiting.push(resolve))
    },
    end() {
      if (!closed) response.end()
    },
    get closed() {
      return closed
    },
    onClose(listener) {
      if (closed) listener()
      else listeners.push(listener)
    },
  }
}
