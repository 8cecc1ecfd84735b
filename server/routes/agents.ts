import { agentInfo } from '../agents/info'
import type { Agent } from '../agents/port'
import type { AgentsAnswer } from '../contract/agents'
import { Refusal } from '../contract/problems'
import type { AgentKind } from '../contract/session'
import type { ProfileContext } from '../profiles/context'
import { wordsOf } from '../runs/words'
import type { Handlers } from './call'
import type { Parts } from './parts'

type Names = 'GET /api/agents' | 'POST /api/agents/choose' | 'POST /api/agents/restart' | 'GET /api/agents/log'

/** The agents of this server: how they stand, which one new chats use, and what can be done about one (DESIGN §5). */
export function agentRoutes({ agents, choice, timers }: Pick<Parts, 'agents' | 'choice' | 'timers'>): Handlers<Names> {
  const all = async (profile: ProfileContext): Promise<AgentsAnswer> => {
    const { kind, by } = await choice.of(profile)
    return { agents: await Promise.all(agents.map((agent) => agentInfo(agent, profile, kind, timers))), chosen: kind, chosen_by: by }
  }
  const one = (kind: AgentKind): Agent => {
    const found = agents.find((agent) => agent.kind === kind)
    if (!found) throw new Refusal('agent_unavailable', `This server has no agent of the kind ${kind}.`)
    return found
  }
  return {
    'GET /api/agents': ({ profile }) => all(profile),
    async 'POST /api/agents/choose'({ input, profile }) {
      await choice.choose(profile, input.kind)
      return all(profile)
    },
    async 'POST /api/agents/restart'({ input, profile }) {
      const agent = one(input.kind)
      if (!agent.restart) throw new Refusal('bad_request', 'This agent has no program of its own that could be started again.')
      await agent.restart(profile).catch((error: unknown) => {
        if (error instanceof Refusal) throw error
        throw new Refusal('agent_unavailable', 'The agent could not be started again.', { words: wordsOf(error) })
      })
      return all(profile)
    },
    async 'GET /api/agents/log'({ input, profile }) {
      const status = await one(input.kind).status?.(profile)
      return { kind: input.kind, log: (status?.program?.log ?? '').slice(-LOG_UNITS) }
    },
  }
}

/** The last 64 kB of what the program wrote. */
const LOG_UNITS = 65_536
