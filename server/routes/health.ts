import type { AgentHealth } from '../contract/routes'
import { agentInfo } from '../agents/info'
import type { Agent, Timers } from '../agents/port'
import type { ProfileContext } from '../profiles/context'
import { isOn } from './parse'
import { seconds } from './compact'
import { everyEntry } from './sessions'
import type { Handlers } from './call'
import type { Parts } from './parts'

/** How well the server is. Whatever cannot be found out is said, and makes it `degraded`. */
export function health({ store, runs, feed, agents, timers, version, startedAt }: Pick<Parts, 'store' | 'runs' | 'feed' | 'agents' | 'timers' | 'version' | 'startedAt'>): Handlers<'GET /health'> {
  let counted = { rev: -1, sessions: 0 }
  /** Counted anew only when something was committed since. */
  const countSessions = async (profile: string): Promise<number> => {
    const rev = await store.head()
    if (rev !== counted.rev) counted = { rev, sessions: (await everyEntry(store, profile)).length }
    return counted.sessions
  }

  return {
    async 'GET /health'({ input, profile }) {
      const live = runs.live()
      const stats = store.stats()
      const checks = isOn(input.deep) ? { store: await store.check(), commits: stats.commits, last_commit_ms: stats.lastCommitMs, events: stats.events } : undefined
      return {
        status: checks && !checks.store.ok ? 'degraded' : 'ok',
        store: store.id,
        version,
        sessions: await countSessions(profile.name),
        active_streams: feed.stats().streams,
        active_runs: live.length,
        uptime_seconds: seconds(timers.now() - startedAt),
        server_started_at: seconds(startedAt),
        agents: await Promise.all(agents.map((agent) => agentHealth(agent, profile, timers))),
        memory: process.memoryUsage.rss(),
        ...(checks ? { checks } : {}),
      }
    },
  }
}

async function agentHealth(agent: Agent, profile: ProfileContext, timers: Timers): Promise<AgentHealth> {
  const [info, probe] = await Promise.all([agentInfo(agent, profile, agent.kind, timers), agent.probe(profile).catch(() => null)])
  const { kind, state, name, version, capabilities, fault, words, hint } = info
  const code = fault ?? (probe?.state === 'unavailable' ? probe.code : undefined)
  return {
    kind, state, name, ...(version === undefined ? {} : { version }), capabilities, ...(probe?.state === 'ready' ? { model: probe.model } : {}), ...(code === undefined ? {} : { code }),
    ...(words === undefined ? {} : { words }), ...(hint === undefined ? {} : { hint }),
  }
}
