import { Show } from 'solid-js'
import { Busy } from '../ui/busy'

/** Who answers in a chat and how that stands, in words. `busy`: it is about to be there; `bad`: it is not. */
export interface AgentLine { name: string; state: string | null; busy: boolean; bad: boolean }

/** In a chat's header: a link to the agent's page. */
export function AgentLink(props: { line: AgentLine }) {
  return (
    <a class="who-answers cut" classList={{ bad: props.line.bad }} href="/settings/agent">
      <Show when={props.line.busy}>
        <Busy />
      </Show>
      <span class="cut">
        {props.line.name}
        {props.line.state ? ` ${props.line.state}` : ''}
      </span>
    </a>
  )
}
