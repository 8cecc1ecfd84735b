import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fixedChoice } from '../../server/agents/choice'
import type { Agent } from '../../server/agents/port'
import { makeMint } from '../../server/contract/ids'
import type { ModelRef } from '../../server/contract/session'
import type { ProfileContext } from '../../server/profiles/context'
import type { Limits } from '../../server/runs/limits'
import type { Runs } from '../../server/runs/port'
import { makeRuns } from '../../server/runs/runs'
import { systemTimers } from '../../server/runs/timers'
import type { Store } from '../../server/store/port'
import { ModelStore } from '../support/model-store'

/** One tool call that the agent (or the model behind it) is asked to make. Files are relative to the workspace. */
export type ToolCue =
  /** Reads a file that exists; its text reaches the row's `result`. */
  | { tool: 'read'; file: string; text: string }
  /** Reads a file that does not exist; the call fails. */
  | { tool: 'read_missing'; file: string }
  /** Calls a tool that nobody has; the call fails and the turn goes on. */
  | { tool: 'unknown'; name: string }
  /** Writes a new file; the row or its question carries a diff. May ask. */
  | { tool: 'write'; file: string; text: string }
  /** Asks, with every choice that the adapter has, then runs the command. `ms`: the agent gives up asking by itself after that. */
  | { tool: 'shell'; command: string; ms?: number }
  /** Takes about twenty seconds unless it is stopped. May ask. */
  | { tool: 'slow' }

/** What happens in a turn, in order. An adapter's rig turns it into whatever makes its own peer do so. */
export type Cue =
  /** Answer text in exactly these pieces, as the peer sends them. */
  | { cue: 'text'; deltas: string[] }
  | { cue: 'reasoning'; deltas: string[] }
  /** The text arrives cut between every byte, or the smallest unit that the peer's protocol has. */
  | { cue: 'bytes'; text: string }
  /** Calls of one step, all of them begun before the first has ended where the adapter runs them so. */
  | { cue: 'tools'; calls: ToolCue[] }
  /** A clarifying question; `ms`: until the agent goes on without an answer. */
  | { cue: 'clarify'; question: string; choices: string[]; ms?: number }
  /** After the submitted turn the agent begins one by itself, which says the text. */
  | { cue: 'later'; text: string }
  /** From here on nothing comes any more, and the peer does not end either. */
  | { cue: 'silence' }
  | { cue: 'problem'; kind: ProblemKind }

/** How a provider fails: status 401, 429, 500; connection refused; accepted and silent; an empty answer; cut in mid-answer; nonsense. */
export type ProblemKind = 'unauthorized' | 'rate_limited' | 'server_error' | 'refused' | 'hang' | 'empty' | 'cut' | 'malformed'

/**
 * What the conformance suite needs of an adapter: real `Runs` over a store, with the adapter as its agent.
 *
 * An adapter's own test calls `conformance('name', (options) => …)` with a function that makes a fresh rig; `agentRig` below builds all of it
 * but `message`. The suite makes chats with `agent` and `model`, sends `message(cues)`, and answers every question as the case says.
 */
export interface Rig {
  runs: Runs
  store: Store
  profile: ProfileContext
  /** Agent and model of the chats that the suite makes. */
  agent: 'scripted' | 'embedded' | 'hermes'
  model: ModelRef | null
  /** The folder that chats work in: real, empty, and the rig's own. */
  workspace: string
  /** Text of a message that makes this adapter play the cues, called once for each turn; null where it cannot, which skips nothing but that line. */
  message(cues: Cue[]): string | null
  /** Whether the words reached the agent; `answer`: what it said in the turn. */
  told(words: string, answer: string): boolean
  /** How many processes that the agent started are still alive. */
  leftovers(): Promise<number>
  /** ms that something may take to come about; 20 s unless said. */
  patience?: number
  close(): Promise<void>
}

export interface RigOptions {
  /** Shorter times for cases that would wait for the real ones. */
  limits?: Partial<Limits>
  /** ms that a clarifying question waits, where the adapter has one time for all. */
  clarify?: number
}
export type MakeRig = (options: RigOptions) => Promise<Rig>

/** Real runs over a model of the store, the machine's clock and a fresh folder, for one agent. */
export function agentRig(agent: Agent, kind: Rig['agent'], options: RigOptions & { store?: Store; profile?: ProfileContext; folder?: string; model?: ModelRef | null }) {
  const folder = options.folder ?? realpathSync(mkdtempSync(join(tmpdir(), 'talaria-agent-')))
  const workspace = join(folder, 'workspace')
  mkdirSync(workspace, { recursive: true })
  const timers = systemTimers()
  const store = options.store ?? new ModelStore()
  const profile = options.profile ?? { name: 'default', home: folder, scope: folder, env: {}, isLaunch: true }
  const runs = makeRuns({
    store, timers, mint: makeMint(timers.now, Math.random), agents: { [kind]: agent }, choice: fixedChoice(kind), profileOf: (name) => (name === profile.name ? profile : null), defaultWorkspace: workspace, workspaceRoots: [folder],
    limits: { ladder: 2000, drain: 1000, ...options.limits },
  })
  return {
    runs, store, profile, agent: kind, model: options.model ?? null, workspace, timers, folder,
    async close(): Promise<void> {
      await runs.drain()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
