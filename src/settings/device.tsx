import { Show } from 'solid-js'
import { t } from '../../i18n/settings'
import { bytes } from '../../i18n/format'
import { Button } from '../ui/button'

export interface DeviceProps {
  /** `ready`: the browser offers to install; `done`: it runs as an app. */
  install: 'ready' | 'done' | 'no'
  onInstall: () => void
  /** Whether a worker answers without the network. */
  offline: 'ready' | 'starting' | 'full' | 'none'
  /** Bytes that this origin uses here; null when the browser does not say. */
  used: number | null
  version: string
  store: string | null
  host: string
}

/** What this device holds, and how to make the page an app. */
export function DeviceSection(props: DeviceProps) {
  return (
    <>
      <section class="set">
        <h2>{t('set.device')}</h2>
        <div class="it">
          <div>
            <b>{t('set.install')}</b>
            <p class="hint">{props.install === 'no' ? t('set.install.no') : t('set.install.hint')}</p>
          </div>
          <Show when={props.install === 'ready'} fallback={<span class="val">{props.install === 'done' ? t('set.install.done') : ''}</span>}>
            <Button onPress={() => props.onInstall()}>{t('set.install.go')}</Button>
          </Show>
        </div>
        <div class="it st">
          <div>
            <b>{t('set.offline')}</b>
            <p class="hint">{props.offline === 'ready' ? t('set.offline.ready') : props.offline === 'starting' ? t('set.offline.starting') : props.offline === 'full' ? t('set.offline.full') : t('set.offline.none')}</p>
          </div>
        </div>
        <Show when={props.used !== null}>
          <div class="it">
            <b>{t('set.size')}</b>
            <span class="val num">{bytes(props.used ?? 0)}</span>
          </div>
        </Show>
      </section>
      <section class="set">
        <h2>{t('set.server')}</h2>
        <div class="it">
          <b>{props.host}</b>
          <span class="val">
            {t('set.version')} {props.version}
          </span>
        </div>
        <Show when={props.store}>
          <div class="it">
            <b>{t('set.server.store')}</b>
            <span class="val code">{props.store}</span>
          </div>
        </Show>
      </section>
    </>
  )
}
