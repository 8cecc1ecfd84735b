import { createSignal, For, Show, type JSX } from 'solid-js'
import { t } from '../../i18n/settings'
import type { Connection, ModelsAnswer, ModelsStatus } from '../../server/contract/models'
import type { ModelRef } from '../../server/contract/session'
import { reasonOf } from '../shell/reason'
import { Button } from '../ui/button'
import { Dialog } from '../ui/dialog'
import { Icon } from '../ui/icon'
import { useNotices } from '../ui/notices'

export interface ModelsProps {
  status: ModelsStatus
  models: ModelsAnswer | undefined
  online: boolean
  /** Makes a model the one of new chats. */
  onDefault: (model: ModelRef) => Promise<void>
  onRemove: (connection: string) => Promise<void>
  /** The form that connects one more. */
  form: JSX.Element
}

/** Connections of the server: which model new chats use, what is connected and from where, and the form for one more. */
export function ModelsPage(props: ModelsProps) {
  const notices = useNotices()
  const [leaving, setLeaving] = createSignal<Connection | null>(null)
  const value = (ref: ModelRef | null) => (ref ? JSON.stringify([ref.provider, ref.id]) : '')
  const choose = async (chosen: string) => {
    const [provider, model] = JSON.parse(chosen) as [string, string]
    try {
      await props.onDefault({ provider, id: model })
      notices.announce(t('shell.saved'))
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('composer.model.notChanged', { reason: reasonOf(error) }) })
    }
  }
  const remove = async (connection: Connection) => {
    setLeaving(null)
    try {
      await props.onRemove(connection.id)
      notices.toast({ kind: 'plain', text: t('set.models.removed') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('set.models.remove.failed', { reason: reasonOf(error) }) })
    }
  }
  return (
    <>
      <section class="set">
        <p class="lead">{t('set.models.lead')}</p>
        <Show when={props.models?.groups.some((group) => group.models.length + group.extra_models.length > 0)}>
          <div class="it wr">
            <div>
              <b id="set-default">{t('set.models.default')}</b>
              <p class="hint">{t('set.models.default.hint')}</p>
            </div>
            <div class="f">
              <select aria-labelledby="set-default" disabled={!props.online} value={value(props.status.default)} onChange={(change) => void choose(change.currentTarget.value)}>
                <Show when={!props.status.default}>
                  <option value="" selected>
                    {t('composer.model.none')}
                  </option>
                </Show>
                <For each={props.models?.groups}>
                  {(group) => (
                    <optgroup label={group.provider}>
                      <For each={[...group.models, ...group.extra_models]}>
                        {(model) => {
                          const ref = { provider: group.provider_id, id: model.id }
                          return (
                            <option value={value(ref)} selected={value(ref) === value(props.status.default)}>
                              {model.label || model.id}
                            </option>
                          )
                        }}
                      </For>
                    </optgroup>
                  )}
                </For>
              </select>
            </div>
          </div>
        </Show>
        <ul>
          <For each={props.status.connections} fallback={<li class="it">{t('set.models.none')}</li>}>
            {(connection) => (
              <li class="it">
                <div>
                  <b>
                    {connection.display_name}
                  </b>
                  <p class="hint">
                    {sourceOf(connection)}
                    <Show when={connection.base_url}>
                      {' · '}
                      <span class="code">{connection.base_url}</span>
                    </Show>
                  </p>
                  <Show when={connection.state !== 'ready' && connection.hint}>
                    <p class="hint bad">
                      <Icon name="circle-alert" size="s" />
                      {connection.hint}
                    </p>
                  </Show>
                </div>
                <Show when={connection.removable}>
                  <Button kind="quiet" disabled={!props.online} onPress={() => setLeaving(connection)}>
                    {t('set.models.remove')}
                  </Button>
                </Show>
              </li>
            )}
          </For>
        </ul>
      </section>
      <section class="set">
        <Show when={props.online} fallback={<p class="m2">{t('connect.offline')}</p>}>
          {props.form}
        </Show>
      </section>
      <Show when={leaving()} keyed>
        {(connection) => (
          <Dialog title={t('set.models.remove.title', { name: connection.display_name })} onCancel={() => setLeaving(null)}>
            <p class="m2">{t('set.models.remove.text')}</p>
            <div class="acts">
              <Button ref={(element) => element.setAttribute('autofocus', '')} onPress={() => setLeaving(null)}>
                {t('shell.cancel')}
              </Button>
              <Button kind="danger" onPress={() => void remove(connection)}>
                {t('set.models.remove')}
              </Button>
            </div>
          </Dialog>
        )}
      </Show>
    </>
  )
}

function sourceOf(connection: Connection): string {
  return {
    hermes: t('set.models.source.hermes'),
    page: t('set.models.source.page'),
    local: t('set.models.source.local'),
    scripted: t('set.models.source.scripted'),
  }[connection.source]
}
