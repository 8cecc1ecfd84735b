import { createEffect, createResource, createSignal, Match, on, Show, Suspense, Switch } from 'solid-js'
import { t } from '../i18n/settings'
import type { ModelsStatus } from '../server/contract/models'
import type { ModelRef } from '../server/contract/session'
import { AgentSettings } from './app-agents'
import type { AppParts } from './app-parts'
import { SettingsLinks } from './app-settings-links'
import { ConnectForm } from './connect/form'
import type { ConnectActions } from './connect/port'
import { DeviceSection } from './settings/device'
import type { Look } from './settings/look'
import { LookPage } from './settings/look-page'
import { ModelsPage } from './settings/models'
import './styles/connect.css'
import './styles/settings.css'
import { Banner } from './shell/banner'
import type { SettingsPage } from './shell/place'
import type { BannerState } from './shell/banner-state'
import { Icon } from './ui/icon'
import { useNotices } from './ui/notices'

export interface SettingsPaneProps {
  parts: AppParts
  page: SettingsPage
  status: ModelsStatus | undefined
  refresh: () => Promise<void>
  actions: ConnectActions
  look: Look
  onLook: (part: Partial<Look>) => void
  online: boolean
  banner: BannerState
  phone: boolean
  moved: boolean
  tabs: boolean
}

/** The settings that exist: models, agents, and the look of this device. */
export default function SettingsPane(props: SettingsPaneProps) {
  const notices = useNotices()
  const [models, { refetch }] = createResource(() => props.parts.backend.call('GET /api/models', { agent: 'embedded' }).catch(() => undefined))
  const [health] = createResource(() => props.parts.backend.call('GET /health', {}).catch(() => undefined))
  const [used] = createResource(() => props.parts.device.used())
  const [saved, setSaved] = createSignal(false)
  let title!: HTMLHeadingElement
  // Whoever came here by a link starts at the heading; a fresh load takes nobody's focus.
  createEffect(
    on(
      () => props.page,
      () => {
        if (props.moved) title.focus()
      },
    ),
  )
  const changed = async () => {
    await props.refresh()
    await refetch()
  }
  const makeDefault = (ref: ModelRef) => props.actions.setup({ provider: ref.provider, model: ref.id }).then(changed)
  const remove = (id: string) => props.actions.remove(id).then(changed)
  const reading = () => {
    const keeping = props.parts.sync.keeping()
    return keeping === 'ok' ? props.parts.device.offline() : keeping
  }
  const name = () => t(({ connection: 'set.connection', agent: 'set.agent', appearance: 'set.look' } as const)[props.page])
  return (
    <>
      <header class="bar">
        <Show when={props.phone}>
          <a class="back" href="/settings" aria-label={t('set.title')}>
            <Icon name="chevron-left" class="flip" />
          </a>
        </Show>
        <h1 class="cut" ref={title} tabindex="-1" id="page-title">
          {name()}
        </h1>
        <span class="saved" role="status">
          <Show when={saved() && props.page === 'appearance'}>
            <Icon name="check" size="s" />
            {t('shell.saved')}
          </Show>
        </span>
        <Show when={props.tabs}>
          <nav class="tabs" aria-label={t('set.list')}>
            <SettingsLinks page={props.page} />
          </nav>
        </Show>
      </header>
      <Banner state={props.banner} savedAt={null} onRetry={() => props.parts.sync.retryNow()} />
      <div class="scroll">
        <div class="page">
          <Switch>
            <Match when={props.page === 'appearance'}>
              <LookPage
                look={props.look}
                onChange={(part) => {
                  props.onLook(part)
                  setSaved(true)
                }}
              />
              <Suspense>
                <DeviceSection
                  install={props.parts.device.install()}
                  onInstall={() => props.parts.device.askInstall()}
                  offline={reading()}
                  used={used.latest ?? null}
                  version={__VERSION__}
                  store={health.latest?.store ?? null}
                  host={props.parts.host}
                />
              </Suspense>
            </Match>
            <Match when={props.page === 'agent'}>
              <AgentSettings parts={props.parts} online={props.online} refresh={props.refresh} />
            </Match>
            <Match when={props.status} keyed>
              {(status) => (
                <Suspense>
                  <ModelsPage
                    status={status}
                    models={models.latest}
                    online={props.online}
                    onDefault={makeDefault}
                    onRemove={remove}
                    form={
                      <ConnectForm
                        status={status}
                        actions={props.actions}
                        titled={t('set.models.add')}
                        onConnected={() => {
                          notices.toast({ kind: 'good', text: t('connect.form.saved') })
                          void changed()
                        }}
                      />
                    }
                  />
                </Suspense>
              )}
            </Match>
            <Match when={!props.online}>
              <p class="m2">{t('connect.offline')}</p>
            </Match>
          </Switch>
        </div>
      </div>
    </>
  )
}
