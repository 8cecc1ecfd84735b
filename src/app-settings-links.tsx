import { For, Show } from 'solid-js'
import { t } from '../i18n'
import { Icon } from './ui/icon'

/** Links to the pages of settings, for the sidebar and for tabs. */
export function SettingsLinks(props: { page: string; icons?: boolean }) {
  const pages = [
    { page: 'connection', icon: 'cpu' as const, name: () => t('set.connection') },
    { page: 'agent', icon: 'bot' as const, name: () => t('set.agent') },
    { page: 'appearance', icon: 'palette' as const, name: () => t('set.look') },
  ]
  return (
    <For each={pages}>
      {(one) => (
        <a href={`/settings/${one.page}`} aria-current={props.page === one.page ? 'page' : undefined}>
          <Show when={props.icons}>
            <Icon name={one.icon} />
          </Show>
          {one.name()}
        </a>
      )}
    </For>
  )
}
