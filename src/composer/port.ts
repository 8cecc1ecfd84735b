import type { ModelsAnswer } from '../../server/contract/models'
import type { ModelRef } from '../../server/contract/session'
import type { Drafts } from './drafts'

/** What the frame may ask of the box. */
export interface ComposerHandle {
  focus: () => void
  /** Puts text into the box, in front of nothing: it replaces what stands there only when that is empty. */
  put: (text: string) => void
  openModels: () => void
}

export interface ComposerProps {
  /** The chat whose draft stands in the box: a session, or `new`. */
  chat: string
  placeholder: string
  workspace: string | null
  model: ModelRef | null
  scripted: boolean
  /** The live run of this chat; `waits`: for the person. */
  run: { stopping: boolean; since: number; waits?: boolean } | null
  online: boolean
  ready: boolean
  phone: boolean
  fingers: boolean
  skew: number
  drafts: Drafts
  /** Resolves when the server has taken the message; the same key never sends twice. */
  send: (text: string, key: string) => Promise<void>
  stop: () => Promise<void>
  models: () => Promise<ModelsAnswer>
  onModel: (model: ModelRef) => void
  onManage: () => void
  onSent: () => void
  announce: (text: string) => void
  /** A message was refused after its chat was left; its text is that chat's draft again. */
  onFailedElsewhere: (text: string) => void
  /** Somebody is in the middle of writing. */
  onWriting?: (writing: boolean) => void
  handle?: (handle: ComposerHandle) => void
}
