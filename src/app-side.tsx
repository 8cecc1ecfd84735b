import { Show } from 'solid-js'
import { t } from '../i18n'
import { SettingsLinks } from './app-settings-links'
import { SessionList, type ListProps } from './sessions/list'
import { Banner } from './shell/banner'
import type { BannerState } from './shell/banner-state'
import { ConnectionMark } from './shell/connection'
import type { SettingsPage } from './shell/place'
import { Sections } from './shell/sections'
import type { Connection } from './sync/port'
import { Icon, Wing } from './ui/icon'
import { IconButton } from './ui/icon-button'

/** With what the list of chats takes, which is handed on. */
export interface SideProps extends ListProps {
  host: string
  connection: Connection
  banner: BannerState
  phone: boolean
  /** It is the screen, not beside it. */
  main: boolean
  rail: boolean
  /** The page of settings that is open, `list` on a phone's list of them, null among chats. */
  settings: SettingsPage | 'list' | null
  needs: number
  onRetry: () => void
  onFold: () => void
  /** On a rail the section of chats opens the list instead of going anywhere. */
  onChats: () => void
}

const apple = /Mac|iP(hone|ad|od)/.test(navigator.platform)
const mod = () => (apple ? t('shell.keys.cmd') : t('shell.keys.ctrl'))

/** Sidebar, rail, or the list screen of a phone: who one talks to, new chat, the chats, the sections. */
export function Side(props: SideProps) {
  return (
    <div class="side" role={props.main ? 'main' : 'complementary'} aria-label={t('list.label')}>
      <div class="bar">
        <Show
          when={props.phone}
          fallback={
            <>
              <span class="who">
                <Wing />
                <b class="cut">{props.host}</b>
                <ConnectionMark connection={props.connection} banner={props.banner} />
              </span>
              <IconButton
                icon="panel-left"
                small
                name={props.rail ? t('shell.sidebar.open') : t('shell.sidebar.fold')}
                keys={`${mod()} B`}
                expanded={!props.rail}
                onPress={() => props.onFold()}
              />
            </>
          }
        >
          <h1 class="ttl grow">{props.settings ? t('set.title') : t('list.title')}</h1>
          <span class="conn">{props.host}</span>
        </Show>
      </div>
      <Show when={props.phone}>
        <Banner state={props.banner} savedAt={null} onRetry={() => props.onRetry()} />
      </Show>
      <Show when={!props.phone}>
        <div class="find">
          <a class="b new" href="/new" aria-label={t('list.new')}>
            <Icon name="square-pen" />
            <span>{t('list.new')}</span>
            <kbd aria-hidden="true">{mod()} Shift O</kbd>
          </a>
        </div>
      </Show>
      <Show
        when={props.settings}
        fallback={
          <div class="chats">
            <SessionList
              list={props.list}
              current={props.current}
              offline={props.offline}
              skew={props.skew}
              saved={props.saved}
              attention={props.attention}
              onRename={props.onRename}
              onDelete={props.onDelete}
              onUnavailable={props.onUnavailable}
            />
          </div>
        }
      >
        {(page) => (
          <Show when={!props.rail}>
            <nav class="scroll list nav" aria-label={t('set.list')}>
              <SettingsLinks page={page()} icons />
            </nav>
          </Show>
        )}
      </Show>
      {/* Not before it is known that there are chats: an empty list gives way to the empty chat. */}
      <Show when={props.phone && !props.settings && props.list.state === 'ready'}>
        <div class="thumbs">
          <a class="b pri" href="/new">
            <Icon name="square-pen" />
            {t('list.new')}
          </a>
        </div>
      </Show>
      <Sections
        at={props.settings ? 'settings' : 'chats'}
        needs={props.settings || props.rail ? props.needs : 0}
        onChats={(press) => {
          if (!props.rail || props.settings) return
          press.preventDefault()
          props.onChats()
        }}
      />
    </div>
  )
}
