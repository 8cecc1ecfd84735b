import type { Agent, AgentSession, Opening, Sink, Timers, TurnInput } from '../port'
import type { ModelRef } from '../../contract/session'
import { demo } from './demo'
import { realEcho } from './echo'
import type { Echo } from './echo'
import { realFolder } from './folder'
import type { Folder } from './folder'
import { Pace } from './pace'
import { Player } from './play'
import { parseScript } from './script'

/** How the scripted agent is named wherever a model is shown. */
export const SCRIPTED_MODEL: ModelRef = { provider: 'scripted', id: 'scripted' }

export interface ScriptedParts {
  timers: Timers
  /** Factor of every pause: 1 for people, 0 for tests. */
  scale?: number
  folder?: Folder
  echo?: Echo
}

/**
 * The agent without a model: plays the directives of a message (`script.ts`), or the demo of *Try it*. It drives the tests of everything above
 * it, and passes the same conformance suite as every other adapter (spec/agents.md §6).
 */
export function makeScripted(parts: ScriptedParts): Agent {
  const open = new Set<AgentSession>()
  const make = (opening: Opening, sink: Sink): AgentSession => {
    let current: { player: Player; pace: Pace } | null = null
    const session: AgentSession = {
      async turn(input: TurnInput) {
        const pace = new Pace(parts.timers, parts.scale ?? 1)
        const player = new Player(sink, pace, opening.cwd)
        current = { player, pace }
        try {
          const steps = parseScript(input.text)
          if (steps) return await player.play(steps)
          return await player.perform(() => demo(player, pace, { text: input.text, cwd: opening.cwd, folder: parts.folder ?? realFolder(), echo: parts.echo ?? realEcho }))
        } finally {
          current = null
        }
      },
      async decide(question, choice) {
        return current ? current.player.decide(question, choice) : { state: 'refused', code: 'not_running' }
      },
      async stop() {
        current?.pace.stop()
      },
      async close() {
        current?.pace.stop()
        open.delete(session)
      },
    }
    return session
  }
  return {
    kind: 'scripted',
    async probe() {
      return {
        state: 'ready', agent: { kind: 'scripted', name: 'Scripted agent', version: '1' }, model: SCRIPTED_MODEL,
        capabilities: ['reasoning', 'tool_arguments', 'tool_results', 'diffs', 'approvals', 'stop', 'workspace'],
      }
    },
    async open(opening, sink) {
      const session = make(opening, sink)
      open.add(session)
      return session
    },
    async end() {
      await Promise.all([...open].map((session) => session.close()))
    },
  }
}
