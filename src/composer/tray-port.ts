import type { Component } from 'solid-js'

/** Files of messages that are being written, of every chat; loaded when there is one. All that is read of it is reactive. */
export interface Tray {
  /** Anything at all stands in it. */
  any: (chat: string) => boolean
  /** Why the message cannot be sent yet; null when every file is on the server. */
  held: (chat: string) => string | null
  /** What is sent with the message; undefined without files. */
  given: (chat: string) => Given | undefined
  /** Files that a person chose. */
  add: (chat: string, files: Iterable<File>) => void
  /** What was kept of an earlier page. */
  restore: (chat: string, kept: string) => void
  /** The message was taken: its files leave, what was added meanwhile goes to the chat that it made. */
  sent: (chat: string, given: Given, made?: string) => void
  View: Component<{ chat: string; online: boolean; onLeft: () => void }>
}

/**
 * `session`: the chat on the server that holds them. `keyOf`: the key of a message with them: the same text with other files is another message, and one without a
 * text is known by its files.
 */
export interface Given { session: string; ids: readonly string[]; keyOf: (message: string, key: string) => string }

/** The name of the draft that keeps the files of a chat. */
export function filesDraft(chat: string): string {
  return `files.${chat}`
}
