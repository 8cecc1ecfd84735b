import { Match, Show, Switch, type Accessor } from 'solid-js'
import { t } from '../../i18n'
import { running } from '../../i18n/format'
import { now } from '../ui/now'
import { AgentNote, type AgentLine } from './agent-line'

export interface SecondLineProps {
  /** The run that is under way; times in server's ms. */
  run: { state: string; startedAt: number } | null
  /** A permission is asked for. */
  waits: boolean
  /** The question whose answer is being read. */
  asked: { text: string } | null
  /** Who answers: told while nothing else is, and at once while it is about to be there. */
  agent: AgentLine | null
  /** Server's ms minus this device's. */
  skew: number
}

/** On phones: what the chat does, or the question whose answer is being read. */
export function SecondLine(props: SecondLineProps) {
  return (
    <Switch fallback={<Show when={props.agent}>{(line) => <AgentNote line={line()} />}</Show>}>
      <Match when={props.waits}>
        <small class="need">
          <span class="cut">{t('session.waits')}</span>
        </small>
      </Match>
      <Match when={props.agent?.busy && props.agent}>{(line) => <AgentNote line={line()} />}</Match>
      <Match when={props.asked}>
        {(asked) => (
          <small>
            <span class="cut" dir="auto">
              {asked().text}
            </span>
          </small>
        )}
      </Match>
      <Match when={props.run}>
        {(run) => (
          <small>
            <Show when={run().state === 'running'} fallback={<span class="cut">{t('session.stopping')}</span>}>
              <Clock since={() => run().startedAt} skew={props.skew} />
            </Show>
          </small>
        )}
      </Match>
    </Switch>
  )
}

function Clock(props: { since: Accessor<number>; skew: number }) {
  const at = now.second()
  return <span class="cut">{t('session.working', { time: running(at() + props.skew - props.since()) })}</span>
}
