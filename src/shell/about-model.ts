import type { ModelsStatus } from '../../server/contract/models'
import type { ModelRef } from '../../server/contract/session'
import type { HomeProps } from './home'

/** What an empty chat says of the model that would answer it; null where nothing needs to be said. */
export function aboutModel(status: ModelsStatus | undefined, scripted: boolean, model: ModelRef | null): HomeProps['about'] {
  if (scripted) return { kind: 'scripted' }
  const agent = status?.agent
  if (agent?.ready && agent.kind === 'hermes') return { kind: 'agent', name: agent.version === undefined ? agent.name : `${agent.name} ${agent.version}` }
  if (status && !status.completed && !model) return { kind: 'none' }
  if (status?.default_source === 'hermes' && status.default) return { kind: 'hermes', model: status.default.id }
  return null
}
