import { createSignal, For, Show } from 'solid-js'
import { t } from '../../i18n/agents'
import type { AgentInfo, AgentsAnswer } from '../../server/contract/agents'
import type { AgentKind } from '../../server/contract/session'
import { nameOf } from '../agents/words'
import { Button } from '../ui/button'
import { Choice } from '../ui/choice'
import { Dialog } from '../ui/dialog'
import { AgentSection } from './agent'

export interface AgentsProps {
  answer: AgentsAnswer | undefined
  /** Why they could not be read. */
  failed: string | null
  online: boolean
  /** The agent that is being started again. */
  restarting: AgentKind | null
  /** Null: the server decides. */
  onChoose: (kind: AgentKind | null) => void
  onRestart: (agent: AgentInfo) => void
  onAgain: () => void
  log: (kind: AgentKind) => Promise<string>
  copy: (text: string) => Promise<boolean>
}

/** The agents of this server: which one answers new chats, and how each of them stands. */
export function AgentsPage(props: AgentsProps) {
  const [ending, setEnding] = createSignal<AgentInfo | null>(null)
  /** The script is only of use to those who have chosen it. */
  const shown = () => props.answer?.agents.filter((agent) => agent.kind !== 'scripted' || agent.chosen) ?? []
  const value = () => (props.answer?.chosen_by === 'person' ? props.answer.chosen : 'auto')
  return (
    <>
      <section class="set">
        <p class="lead">{t('set.agent.lead')}</p>
        <Show when={props.answer}>
          <div class="it wr">
            <div>
              <b id="set-agent">{t('set.agent.choice')}</b>
              <p class="hint">{props.answer!.chosen_by === 'person' ? t('set.agent.choice.yours') : t('set.agent.choice.auto')}</p>
            </div>
            <fieldset class="bare" disabled={!props.online}>
              <Choice
                class="seg"
                labelledby="set-agent"
                value={value()}
                options={[{ value: 'auto', shown: t('set.agent.auto') }, ...shown().map((agent) => ({ value: agent.kind as string, shown: nameOf(agent) }))]}
                onChange={(chosen) => props.onChoose(chosen === 'auto' ? null : (chosen as AgentKind))}
              />
            </fieldset>
          </div>
        </Show>
        <Show when={props.failed}>
          {(reason) => (
            <div class="it" role="alert">
              <span>{t('set.agent.failed', { reason: reason() })}</span>
              <Button onPress={() => props.onAgain()}>{t('set.agent.again')}</Button>
            </div>
          )}
        </Show>
      </section>
      <For each={shown().map((agent) => agent.kind)}>
        {(kind) => (
          <Show when={shown().find((agent) => agent.kind === kind)}>
            {(agent) => (
              <AgentSection
                agent={agent()}
                online={props.online}
                restarting={props.restarting === kind}
                onRestart={() => setEnding(agent())}
                onAgain={() => props.onAgain()}
                log={() => props.log(kind)}
                copy={(text) => props.copy(text)}
              />
            )}
          </Show>
        )}
      </For>
      <Show when={ending()} keyed>
        {(agent) => (
          <Dialog title={t('set.agent.restart.title', { name: nameOf(agent) })} onCancel={() => setEnding(null)}>
            <p class="m2">{t('set.agent.restart.text')}</p>
            <div class="acts">
              <Button ref={(element) => element.setAttribute('autofocus', '')} onPress={() => setEnding(null)}>
                {t('shell.cancel')}
              </Button>
              <Button
                kind="primary"
                onPress={() => {
                  setEnding(null)
                  props.onRestart(agent)
                }}
              >
                {t('set.agent.restart')}
              </Button>
            </div>
          </Dialog>
        )}
      </Show>
    </>
  )
}
