import type { Agent, AgentSession, Capability, Timers } from '../port'
import type { ModelRef } from '../../contract/session'
import { makeDetached } from './detached/client'
import type { DetachedParts } from './detached/client'
import { realEcho } from './echo'
import type { Echo } from './echo'
import { realFolder } from './folder'
import type { Folder } from './folder'
import { Memory } from './memory'
import { scriptedSession } from './session'

/** How the scripted agent is named wherever a model is shown. */
export const SCRIPTED_MODEL: ModelRef = { provider: 'scripted', id: 'scripted' }

/** Chats with this model are played by a process of its own that outlasts the server; it is offered to nobody. */
export const DETACHED_MODEL: ModelRef = { provider: 'scripted', id: 'detached' }

const CAPABILITIES: Capability[] = [
  'reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'clarify', 'secrets', 'steer', 'stop', 'usage', 'titles', 'background', 'workspace',
]

export interface ScriptedParts {
  timers: Timers
  /** Factor of every pause: 1 for people, 0 for tests. */
  scale?: number
  folder?: Folder
  echo?: Echo
  /** Its reasoning may repeat its text (spec/settlement.md §4). */
  echoes?: boolean
  /** Where the process of detached chats lives; without it there are none. `all`: every chat is one. */
  detached?: Omit<DetachedParts, 'timers'> & { all?: boolean }
}

/**
 * The agent without a model: plays the directives of a message (`script.ts`), or the demo of *Try it*. It drives the tests of everything above
 * it, and passes the same conformance suite as every other adapter (spec/agents.md §6).
 */
export function makeScripted(parts: ScriptedParts): Agent {
  const open = new Set<AgentSession>()
  const memory = new Memory()
  const detached = parts.detached && makeDetached({ timers: parts.timers, ...parts.detached })
  const apart = (model: ModelRef | null) => (parts.detached?.all || model?.id === DETACHED_MODEL.id ? detached : undefined)
  return {
    kind: 'scripted',
    probe: async () => ({ state: 'ready', agent: { kind: 'scripted', name: 'Scripted agent', version: '1' }, model: SCRIPTED_MODEL, capabilities: CAPABILITIES }),
    async open(opening, sink) {
      const elsewhere = apart(opening.model)
      if (elsewhere) return elsewhere.open(opening, sink, parts.echoes ?? false)
      const session = scriptedSession(
        {
          timers: parts.timers, scale: parts.scale ?? 1, folder: parts.folder ?? realFolder(), echo: parts.echo ?? realEcho, memory, ...(parts.echoes ? { echoes: true } : {}),
          closed: () => void open.delete(session),
        },
        opening, sink,
      )
      open.add(session)
      return session
    },
    reattach: async (opening, binding, sink) => (await apart(opening.model)?.reattach(opening, binding, sink)) ?? { state: 'gone' },
    survivors: async () => (await detached?.survivors()) ?? [],
    async end() {
      await Promise.all([...open].map((session) => session.close()))
      await detached?.end()
    },
  }
}
