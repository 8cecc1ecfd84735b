import type { AppParts } from './app-parts'
import { fileAddress, isThere, uploadFile } from './backend/upload'
import { makeTray } from './composer/tray'
import { filesDraft, type Tray } from './composer/tray-port'

const trays = new WeakMap<AppParts, Tray>()
const makers = new WeakMap<AppParts, () => Promise<string>>()

/**
 * The files of messages that are being written: one tray for the life of the page, so that an upload goes on when its chat is left. `make`: makes a chat with what is picked
 * for it now.
 */
export function trayOf(parts: AppParts, announce: (words: string) => void, make: () => Promise<string>): Tray {
  makers.set(parts, make)
  let tray = trays.get(parts)
  if (!tray) {
    tray = makeTray({
      upload: (session, file, options) => uploadFile('', session, file, options),
      isThere: (session, id) => isThere('', session, id),
      address: fileAddress,
      keep: (chat, value) => parts.drafts.note(filesDraft(chat), value),
      announce,
      make: () => makers.get(parts)!(),
    })
    trays.set(parts, tray)
  }
  return tray
}
