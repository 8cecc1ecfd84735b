import { Show } from 'solid-js'
import { t } from '../../i18n'
import { Icon } from '../ui/icon'

/** The sections that exist, always with their word and in this order. Only one of these bars is on screen at any width. */
export function Sections(props: { at: 'chats' | 'settings'; needs: number; onChats?: (press: MouseEvent) => void }) {
  return (
    <nav class="sect" aria-label={t('shell.sections')}>
      <a href="/" aria-current={props.at === 'chats' ? 'page' : undefined} onClick={(press) => props.onChats?.(press)}>
        <Icon name="chat" />
        {t('shell.chats')}
        <Show when={props.needs > 0}>
          <span class="cnt">{props.needs}</span>
        </Show>
      </a>
      <a href="/settings" aria-current={props.at === 'settings' ? 'page' : undefined}>
        <Icon name="gear" />
        {t('shell.settings')}
      </a>
    </nav>
  )
}
