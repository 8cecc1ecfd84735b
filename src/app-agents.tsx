import { createSignal } from 'solid-js'
import { t } from '../i18n/agents'
import type { AgentInfo } from '../server/contract/agents'
import type { AgentKind } from '../server/contract/session'
import { createFollow } from './agents/follow'
import { nameOf } from './agents/words'
import type { AppParts } from './app-parts'
import { AgentsPage } from './settings/agents'
import { reasonOf } from './shell/reason'
import { useNotices } from './ui/notices'

/** The page of agents, joined with the server. */
export function AgentSettings(props: { parts: AppParts; online: boolean; /** What is connected may be another thing now. */ refresh: () => Promise<void> }) {
  const notices = useNotices()
  const [busy, setBusy] = createSignal<AgentKind | null>(null)
  const call = () => props.parts.backend
  const follow = createFollow({
    ask: () => call().call('GET /api/agents', {}),
    // The parts are given once, for the life of the page.
    // eslint-disable-next-line solid/reactivity
    later: props.parts.later,
    online: () => props.online,
    when: () => null,
    near: (answer) => answer?.agents.some(({ state }) => state === 'starting' || state === 'degraded') ?? false,
  })
  const choose = async (kind: AgentKind | null) => {
    try {
      await call().call('POST /api/agents/choose', { kind })
      notices.announce(t('shell.saved'))
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('set.agent.notChosen', { reason: reasonOf(error) }) })
    }
    await Promise.all([follow.refresh(), props.refresh()])
  }
  const restart = async (agent: AgentInfo) => {
    setBusy(agent.kind)
    try {
      await call().call('POST /api/agents/restart', { kind: agent.kind })
      notices.toast({ kind: 'good', text: t('set.agent.restarted', { name: nameOf(agent) }) })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('set.agent.notRestarted', { reason: reasonOf(error) }) })
    }
    setBusy(null)
    await follow.refresh()
  }
  return (
    <AgentsPage
      answer={follow.answer()}
      failed={follow.failed() === null ? null : reasonOf(follow.failed())}
      online={props.online}
      restarting={busy()}
      onChoose={(kind) => void choose(kind)}
      onRestart={(agent) => void restart(agent)}
      onAgain={() => void Promise.all([follow.refresh(), props.refresh()])}
      log={(kind) => call().call('GET /api/agents/log', { kind }).then(({ log }) => log)}
      copy={(text) => props.parts.device.copy(text)}
    />
  )
}
