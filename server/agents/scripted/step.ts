import type { ApprovalRequest, Choice, ChoiceKind } from '../../contract/approvals'
import type { RunProblemCode } from '../../contract/problems'
import type { ClarifyRequest, SecretRequest } from '../../contract/questions'
import type { PlanEntry, ToolVerb } from '../../contract/rows'
import type { Usage } from '../../contract/session'

/** What a tool does in a script; times in ms. */
export interface ScriptedTool {
  call?: string
  parent?: string
  verb?: ToolVerb
  target?: string
  title?: string
  args?: unknown
  output?: string
  result?: string
  diff?: string
  exit?: number
  state?: 'done' | 'failed' | 'cancelled' | 'denied' | 'unknown'
  ms?: number
  /** Left open; a later `end` of the same call closes it. */
  open?: boolean
}

/** A command that the script asks for. `ms`: until the agent itself gives up, real ms; `quiet`: then without a word to `runs/`. */
export interface AskOrder {
  command: string
  choices: Choice[]
  reason?: string
  risk?: ApprovalRequest['risk']
  diff?: string
  ms?: number
  quiet?: boolean
}

/** Where a steer is heard: at the next boundary of any kind, after a piece of text, after a tool, nowhere; or it is refused, or the agent throws. */
export type SteerMode = 'any' | 'text' | 'tool' | 'never' | 'refuse' | 'throw'
/** What becomes of the next answer that reaches the agent: it does not reach it, the question is gone, the agent throws, or it takes `ms` (real). */
export type RelayMode = { how: 'fail' | 'gone' | 'throw' } | { how: 'slow'; ms: number }

/** One thing that the scripted agent does. Programs are data; `play.ts` performs them. */
export type Step =
  | { do: 'say' | 'reason'; text: string }
  /** One delta, exactly as given; surrogate halves and combining marks may stand alone. */
  | { do: 'raw'; delta: string }
  | { do: 'replace'; from: number; text: string }
  | { do: 'segment' }
  /** Repeats a whole message (the original's interim). */
  | { do: 'message'; text: string }
  | { do: 'deltas'; count: number }
  | { do: 'size'; units: number }
  | { do: 'tool'; name: string; tool: ScriptedTool }
  | { do: 'end'; call: string; tool: ScriptedTool }
  /** Asks for each command at once, and goes on when all are answered. */
  | { do: 'ask'; asks: AskOrder[]; alone?: boolean }
  /** Asks and takes the question back after `ms`. */
  | { do: 'expire'; command: string; ms: number }
  /** Asks for each command at once, as an agent does that gives its questions no ids; `ms`: its own time-out, `lag`: until it shows that it timed out. Real ms. */
  | { do: 'nameless'; asks: { command: string; ms: number }[]; lag: number }
  | { do: 'clarify'; request: Omit<ClarifyRequest, 'deadline'>; ms?: number; quiet?: boolean }
  /** `expect`: SHA-256 of the right value, hex, so that a script can say whether it came without knowing it. */
  | { do: 'secret'; request: Omit<SecretRequest, 'deadline'>; ms?: number; expect?: string }
  | { do: 'plan'; entries: PlanEntry[] }
  | { do: 'steers'; how: SteerMode }
  /** Waits for a word of the person, at most `ms`. */
  | { do: 'hear'; ms?: number }
  | { do: 'relay'; relay: RelayMode }
  /** After `ms`, and when no turn plays, a turn that nobody submitted begins. */
  | { do: 'later'; ms: number; text: string; script: string }
  | { do: 'delay'; ms: number }
  | { do: 'silence' }
  /** Waits as `silence` does, and does not end when it is told to stop. */
  | { do: 'deaf' }
  /** Ends the turn as completed, having said nothing. */
  | { do: 'nothing' }
  /** Ends the turn at its limit: completed when it has closing words, else failed. */
  | { do: 'limit'; words: string }
  | { do: 'interrupt'; words: string }
  | { do: 'error'; code: RunProblemCode; words: string; status?: number }
  | { do: 'crash'; words: string }
  | { do: 'usage'; usage: Usage }
  | { do: 'notice'; code: string; words: string }
  | { do: 'title'; text: string }
  | { do: 'bound'; foreign: string; why: 'first' | 'resumed' | 'rotated' | 'reseeded' }
  | { do: 'context'; messages: unknown[] }

const CONSEQUENCES: Partial<Record<ChoiceKind, string>> = {
  session: 'This exact command will run without asking for the rest of this chat, as long as the scripted agent runs.',
  always: 'This exact command will run without asking in every chat of the scripted agent, as long as it runs.',
  deny_always: 'This exact command will be refused without asking in every chat of the scripted agent, as long as it runs.',
}

/** Choices of the scripted agent; what goes beyond this once says in words what it means, and the agent keeps to it. */
export function choicesOf(...kinds: ChoiceKind[]): Choice[] {
  return kinds.map((kind) => ({ id: kind, kind, ...(CONSEQUENCES[kind] ? { consequence: CONSEQUENCES[kind] } : {}) }))
}
