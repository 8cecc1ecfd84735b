import { createEffect, onCleanup } from 'solid-js'
import { t } from '../i18n/agents'
import type { AgentsAnswer } from '../server/contract/agents'
import type { AgentRef } from '../server/contract/session'
import { createFollow } from './agents/follow'
import { namedWith, shortOf } from './agents/words'
import type { AppParts } from './app-parts'
import type { AgentLine } from './shell/agent-line'

export interface AgentHereProps {
  parts: AppParts
  /** The agent that the chat is bound to; null: the one that new chats use. */
  agent: AgentRef | null
  /** A run is under way. */
  live: boolean
  online: boolean
  /** What the header says of it; null while nothing is known. */
  tell: (line: AgentLine | null) => void
}

/** Follows the agent of the open chat, and tells its header who answers and how it stands. Shows nothing itself. */
export function AgentHere(props: AgentHereProps) {
  const infoIn = (all: AgentsAnswer | undefined) => {
    const kind = props.agent?.kind ?? all?.chosen
    return all?.agents.find((one) => one.kind === kind)
  }
  const follow = createFollow({
    ask: () => props.parts.backend.call('GET /api/agents', {}),
    // The parts are given once, for the life of the page.
    // eslint-disable-next-line solid/reactivity
    later: props.parts.later,
    online: () => props.online,
    // Only a program of its own starts with a run, or is gone after it.
    when: (all) => {
      const info = infoIn(all)
      return [props.agent?.kind, (info?.restarts !== undefined || info?.fault !== undefined) && props.live].join()
    },
    near: (all) => {
      const state = infoIn(all)?.state
      return state === 'starting' || state === 'degraded' || (state === 'idle' && props.live)
    },
  })
  createEffect(() => {
    const all = follow.answer()
    const known = infoIn(all)
    const bound = props.agent
    if (known) {
      const state = shortOf(known)
      const busy = known.state === 'starting' || known.state === 'degraded' || (known.state === 'idle' && props.live)
      props.tell({ name: namedWith(known, known.version ?? bound?.version), state: busy && !state ? t('agent.short.starting') : state, busy, bad: !busy && state !== null })
    } else if (bound) props.tell({ name: namedWith(bound, bound.version), state: all ? t('agent.short.gone') : null, busy: false, bad: all !== undefined })
    else props.tell(null)
  })
  onCleanup(() => props.tell(null))
  return null
}
