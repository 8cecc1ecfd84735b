import type { Choice } from '../../contract/approvals'
import type { AgentEvent } from '../port'
import type { Payload } from './protocol/events'

/** ms before Hermes gives a question up at which we do: an answer that arrives after that may be taken for the next one (spec/agents.md §3). */
const EARLY = 2_000

/** ms that Hermes waits for an answer to a clarifying question, a sudo password and a secret (spec/hermes-rpc.md §5); not configurable. */
const WAITS = { clarify: 300_000, sudo: 120_000, secret: 300_000 } as const

export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny'
type Raised = Extract<AgentEvent, { type: 'question.raised' | 'clarify.raised' | 'secret.raised' }>

/** What choosing means, in Hermes' true meaning (spec/hermes-rpc.md §5). */
function choiceOf(kind: ApprovalChoice, pattern: string): Choice {
  switch (kind) {
    case 'session':
      return { id: kind, kind, consequence: `Hermes Agent does not ask again in this chat for commands of the kind “${pattern}”, until it closes the chat: ten minutes after its last turn at the latest.` }
    case 'always':
      return { id: kind, kind, consequence: `Hermes Agent never asks again for commands of the kind “${pattern}”, in any chat of this profile on this machine: it is written to command_allowlist in its config.yaml.` }
    default:
      return { id: kind, kind }
  }
}

/** A question as it is raised, and as it is raised again after our restart: Hermes repeats none (spec/hermes-rpc.md §0, trap 11). */
export type Kept =
  | { kind: 'approval'; command: string; why?: string; pattern: string; choices: ApprovalChoice[]; due: number; call?: string; tool: string }
  | { kind: 'clarify'; id: string; question: string; choices: string[]; due: number }

/** Of an approval: only choices that are offered and that we know to be no yes by mistake are ever sent (trap 1). `timeout`: ms that Hermes waits. */
export function keptApproval(payload: Payload<'approval.request'>, now: number, timeout: number, tool: { call?: string; name: string }): Kept {
  const known = (payload.choices ?? ['once', 'deny']).filter(isChoice).filter((choice) => choice !== 'always' || payload.allow_permanent !== false)
  const choices: ApprovalChoice[] = known.includes('deny') ? known : [...known, 'deny']
  return {
    kind: 'approval', command: payload.command, ...(payload.description ? { why: payload.description } : {}), pattern: payload.pattern_key ?? payload.description ?? payload.command, choices,
    due: now + Math.max(0, timeout - EARLY), ...(tool.call === undefined ? {} : { call: tool.call }), tool: tool.name,
  }
}

export function keptClarify(payload: Payload<'clarify.request'>, now: number): Kept {
  return { kind: 'clarify', id: payload.request_id, question: payload.question, choices: payload.choices ?? [], due: now + WAITS.clarify - EARLY }
}

/** What `runs/` keeps beside the log for a re-attach. */
export function foreignOf(kept: Kept): string {
  return JSON.stringify(kept)
}

/** Null for what was not ours. */
export function keptOf(foreign: string): Kept | null {
  try {
    const value = JSON.parse(foreign) as Kept
    return (value.kind === 'approval' || value.kind === 'clarify') && typeof value.due === 'number' ? value : null
  } catch {
    return null
  }
}

/** `question`: the handle that an answer will name. */
export function raisedOf(question: string, kept: Kept, cwd: string): Raised {
  if (kept.kind === 'clarify') {
    return { type: 'clarify.raised', question, foreign: foreignOf(kept), request: { question: kept.question, choices: kept.choices, free: true, deadline: kept.due } }
  }
  return {
    type: 'question.raised', question, nameless: true, foreign: foreignOf(kept), ...(kept.call === undefined ? {} : { call: kept.call }),
    request: {
      action: `Run ${kept.command}`, command: kept.command, tool: kept.tool, cwd, risk: 'high', ...(kept.why === undefined ? {} : { reason: kept.why }),
      choices: kept.choices.map((kind) => choiceOf(kind, kept.pattern)), deadline: kept.due,
    },
  }
}

/** A secret is asked once: it is not kept anywhere, and our restart loses the question. */
export function raisedSecret(event: { type: 'sudo.request'; payload: Payload<'sudo.request'> } | { type: 'secret.request'; payload: Payload<'secret.request'> }, command: string | undefined, now: number): Raised {
  if (event.type === 'sudo.request') {
    const prompt = command === undefined ? 'The password for sudo' : `The password for sudo: ${command}`
    return { type: 'secret.raised', question: event.payload.request_id, request: { kind: 'sudo', prompt, deadline: now + WAITS.sudo - EARLY } }
  }
  const { request_id: question, prompt, env_var: env } = event.payload
  return { type: 'secret.raised', question, request: { kind: 'secret', prompt: prompt ?? env ?? 'A secret', ...(env ? { env } : {}), deadline: now + WAITS.secret - EARLY } }
}

function isChoice(choice: string): choice is ApprovalChoice {
  return choice === 'once' || choice === 'session' || choice === 'always' || choice === 'deny'
}
