import type { ModelsStatus } from '../contract/models'
import type { ProfileContext } from '../profiles/context'
import { AGENT_NAMES } from '../runs/admit'
import type { Handlers } from './call'
import type { Parts } from './parts'

type Names = 'GET /api/models' | 'GET /api/providers' | 'POST /api/providers/delete' | 'GET /api/onboarding/status' | 'POST /api/onboarding/probe' | 'POST /api/onboarding/setup'

/** Connections to model servers and what they offer. Keys come in here and never go out. */
export function modelRoutes({ models, offers, choice, agents, defaultWorkspace }: Pick<Parts, 'models' | 'offers' | 'choice' | 'agents' | 'defaultWorkspace'>): Handlers<Names> {
  /** Who answers new chats. */
  const answering = async (profile: ProfileContext): Promise<NonNullable<ModelsStatus['agent']>> => {
    const { kind } = await choice.of(profile)
    const probe = await agents.find((agent) => agent.kind === kind)?.probe(profile).catch(() => null)
    if (probe?.state !== 'ready') return { kind, name: AGENT_NAMES[kind], ready: false, model: null }
    const { name, version } = probe.agent
    return { kind, name, ...(version === undefined ? {} : { version }), ready: true, model: probe.model }
  }
  return {
    'GET /api/models': async ({ input, profile }) => offers.answer(profile, input.agent ?? (await choice.of(profile)).kind),
    'GET /api/providers': ({ profile }) => models.connections(profile),
    async 'POST /api/providers/delete'({ input, profile }) {
      await models.remove(profile, input.provider)
      return { ok: true, provider: input.provider }
    },
    async 'GET /api/onboarding/status'({ profile }) {
      const [status, agent] = await Promise.all([models.status(profile), answering(profile)])
      return { ...status, completed: status.completed || (agent.ready && agent.kind !== 'embedded'), agent, default_workspace: defaultWorkspace }
    },
    'POST /api/onboarding/probe': ({ input, profile }) => models.check(profile, input),
    'POST /api/onboarding/setup': ({ input, profile }) => models.save(profile, input),
  }
}
