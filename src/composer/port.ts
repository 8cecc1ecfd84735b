import type { ModelsAnswer } from '../../server/contract/models'
import type { ModelRef } from '../../server/contract/session'
import type { Drafts } from './drafts'
import type { Given, Tray } from './tray-port'
import type { BusyWay, Delivered, Way } from './way'

/** What the frame may ask of the box. */
export interface ComposerHandle {
  focus: () => void
  /** Puts text into the box, in front of nothing: it replaces what stands there only when that is empty. */
  put: (text: string) => void
  /** Puts text below what is typed: words that were given back, a changed message that had gone meanwhile. */
  give: (text: string) => void
  /** Takes text out of the box again, if nothing but it stands there, and it has not been sent from there. */
  take: (text: string) => void
  openModels: () => void
}

export interface ComposerProps {
  /** The chat whose draft stands in the box: a session, or `new`. */
  chat: string
  placeholder: string
  workspace: string | null
  model: ModelRef | null
  /** How hard it is to think; null: the agent's own measure. */
  effort: string | null
  scripted: boolean
  /** The live run of this chat; `waits`: for the person. */
  run: { stopping: boolean; since: number; waits?: boolean } | null
  /** A question card holds the box: its draft is kept, and nothing is sent. */
  locked?: boolean
  /** A secret is being typed elsewhere, or was when its field went: nothing puts the focus here, and nothing is taken, until `onEnter`. */
  held?: boolean
  /** The person came here by themselves. */
  onEnter?: () => void
  /** What a message does while a run is live, on this device. */
  mode: BusyWay
  /** The agent takes words while it works. */
  steers: boolean
  /** This way is the usual one from here on. */
  onMode: (way: BusyWay) => void
  online: boolean
  ready: boolean
  phone: boolean
  fingers: boolean
  skew: number
  drafts: Drafts
  /** Resolves when the server has answered; the same key never sends twice. `going`: it is about to go another way, whose answer counts from then on. */
  send: (text: string, key: string, way: Way, going: (way: Way) => void, given?: Given) => Promise<Delivered>
  /** Files of messages, loaded when there is one; absent where none are taken. */
  tray?: () => Promise<Tray>
  stop: () => Promise<void>
  models: () => Promise<ModelsAnswer>
  onModel: (model: ModelRef) => void
  onEffort: (effort: string | null) => void
  /** Where the models come from: our connections, or the agent's own list. */
  onManage: (of: 'connections' | 'agent') => void
  onSent: () => void
  announce: (text: string) => void
  /** A message was refused after its chat was left; its text is that chat's draft again. */
  onFailedElsewhere: (text: string) => void
  /** Somebody is in the middle of writing. */
  onWriting?: (writing: boolean) => void
  handle?: (handle: ComposerHandle) => void
}
