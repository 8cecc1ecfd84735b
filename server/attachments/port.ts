import type { Attachment } from '../contract/attachments'

/** Files that people give with messages. Names of chats are path-safe ids; everything else that a client sends is checked here. */
export interface Attachments {
  /** A place for bytes that come. Nothing of it is a file of any chat until `keep`. */
  receive(): Promise<Receiving>
  /** Makes a file of a chat from what came: durable when this resolves. `name` is what the client claims. The answer's `path` is absolute. */
  keep(session: string, received: Received, name: string): Promise<{ attachment: Attachment; path: string }>
  /** A file of a chat with its path, also one that no message names yet; null for what is not there. */
  find(session: string, id: string): Promise<{ attachment: Attachment; path: string } | null>
  /**
   * The files that a request names by id, path or name, each once; from now on they stay as long as the chat, which is durable when this resolves. Refuses with
   * `attachment_gone` for one that is not there, and `bad_request` for what names none.
   */
  claim(session: string, given: readonly unknown[]): Promise<Attachment[]>
  /** Where the bytes of a chat's file lie, by its own name: absolute. */
  pathOf(session: string, name: string): string
  /** Everything of a chat leaves. */
  remove(session: string): Promise<void>
  /** Removes a file that no message names. */
  discard(session: string, id: string): Promise<void>
  /** At the start, when nothing can be on its way: removes what an earlier server did not receive to its end. */
  begin(): Promise<void>
  /** Removes what no message has named within a day, and what belongs to no chat. */
  sweep(): Promise<void>
}

export interface Receiving {
  write(bytes: Buffer): Promise<void>
  /** All bytes are here, and durable. */
  end(): Promise<Received>
  /** Removes what came. */
  abandon(): Promise<void>
}

/** `part`: where the bytes lie meanwhile. */
export interface Received { part: string; size: number; digest: string; type(name: string): string }
