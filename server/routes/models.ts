import type { Handlers } from './call'
import type { Parts } from './parts'

type Names = 'GET /api/models' | 'GET /api/providers' | 'POST /api/providers/delete' | 'GET /api/onboarding/status' | 'POST /api/onboarding/probe' | 'POST /api/onboarding/setup'

/** Connections to model servers and what they offer. Keys come in here and never go out. */
export function modelRoutes({ models, defaultWorkspace }: Pick<Parts, 'models' | 'defaultWorkspace'>): Handlers<Names> {
  return {
    'GET /api/models': ({ profile }) => models.offers(profile),
    'GET /api/providers': ({ profile }) => models.connections(profile),
    async 'POST /api/providers/delete'({ input, profile }) {
      await models.remove(profile, input.provider)
      return { ok: true, provider: input.provider }
    },
    'GET /api/onboarding/status': async ({ profile }) => ({ ...(await models.status(profile)), default_workspace: defaultWorkspace }),
    'POST /api/onboarding/probe': ({ input, profile }) => models.check(profile, input),
    'POST /api/onboarding/setup': ({ input, profile }) => models.save(profile, input),
  }
}
