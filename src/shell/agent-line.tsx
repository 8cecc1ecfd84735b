import { Show } from 'solid-js'
import { Busy } from '../ui/busy'

/** Who answers in a chat and how that stands, in words. `busy`: it is about to be there; `bad`: it is not. */
export interface AgentLine { name: string; state: string | null; busy: boolean; bad: boolean }

/** In a chat's header: a link to the agent's page. */
export function AgentLink(props: { line: AgentLine }) {
  return (
    <a class="who-answers cut" classList={{ bad: props.line.bad }} href="/settings/agent">
      <AgentWords line={props.line} />
    </a>
  )
}

/** The same under the title on phones, where a link would be too small for a finger. */
export function AgentNote(props: { line: AgentLine }) {
  return (
    <small classList={{ bad: props.line.bad }}>
      <AgentWords line={props.line} />
    </small>
  )
}

function AgentWords(props: { line: AgentLine }) {
  return (
    <>
      <Show when={props.line.busy}>
        <Busy />
      </Show>
      <span class="cut">
        {props.line.name}
        {props.line.state ? ` ${props.line.state}` : ''}
      </span>
    </>
  )
}
