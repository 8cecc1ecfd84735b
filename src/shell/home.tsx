import { For, Show } from 'solid-js'
import { t } from '../../i18n'
import type { ListEntry } from '../../server/contract/listing'
import { Icon, type IconName } from '../ui/icon'

export interface HomeProps {
  /** The folder of this chat; null when it is not known yet. */
  workspace: string | null
  /** A chat that broke off or was stopped, to go on with. */
  unfinished: ListEntry | null
  /** Who answers, or where the model of new chats comes from, told once and plainly. */
  about: { kind: 'agent'; name: string } | { kind: 'hermes'; model: string } | { kind: 'scripted' } | { kind: 'none' } | null
  onPick: (text: string) => void
  onOpen: (session: string) => void
}

/** An empty chat: three lines from the real workspace and the unfinished chats where they are known, else general ones that are true anywhere. */
export function Home(props: HomeProps) {
  const folder = () => props.workspace?.split(/[\\/]/).filter(Boolean).at(-1)
  const lines = (): { icon: IconName; text: string; run: () => void }[] => {
    const name = folder()
    const explain = name ? t('home.suggest.explain', { folder: name }) : t('home.suggest.plain')
    const find = name ? t('home.suggest.find', { folder: name }) : t('home.suggest.find.plain')
    const unfinished = props.unfinished
    const third = unfinished
      ? { icon: 'refresh' as const, text: t('home.suggest.continue', { title: unfinished.title || t('list.untitled') }), run: () => props.onOpen(unfinished.id) }
      : { icon: 'file-pen' as const, text: t('home.suggest.notes'), run: () => props.onPick(t('home.suggest.notes')) }
    return [{ icon: 'folder', text: explain, run: () => props.onPick(explain) }, { icon: 'search', text: find, run: () => props.onPick(find) }, third]
  }
  return (
    <div class="home">
      <h2>{t('home.title')}</h2>
      <ul>
        <For each={lines()}>
          {(line) => (
            <li>
              <button type="button" onClick={() => line.run()}>
                <Icon name={line.icon} />
                <span>{line.text}</span>
              </button>
            </li>
          )}
        </For>
      </ul>
      <Show when={props.about} keyed>
        {(about) => (
          <p class="about">
            <span>{about.kind === 'agent' ? t('home.agent', { agent: about.name }) : about.kind === 'hermes' ? t('home.model', { model: about.model }) : about.kind === 'scripted' ? t('home.scripted') : t('home.noModel')}</span>
            <a class="lnk" href={about.kind === 'agent' ? '/settings/agent' : '/settings/connection'}>
              {about.kind === 'none' ? t('home.connect') : t('home.change')}
            </a>
          </p>
        )}
      </Show>
    </div>
  )
}
