import type { ModelsStatus } from '../../server/contract/models'
import type { AgentRef, ModelRef } from '../../server/contract/session'

/** The model that answers where a chat names none: of our connections for the built-in agent and the script, else the agent's own where it is known. `bound`: the chat's agent. */
export function ownModel(status: ModelsStatus | undefined, bound: AgentRef | null): ModelRef | null {
  const kind = bound?.kind ?? status?.agent?.kind ?? 'embedded'
  if (kind === 'embedded' || kind === 'scripted') return status?.default ?? null
  return status?.agent?.kind === kind ? status.agent.model : null
}
