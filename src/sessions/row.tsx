import { createSignal, Match, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { age, running } from '../../i18n/format'
import type { Attention, ListEntry } from '../../server/contract/listing'
import { Busy } from '../ui/busy'
import { Icon, type IconName } from '../ui/icon'
import { Menu } from '../ui/late-menu'
import { now } from '../ui/now'
import { Trace } from '../ui/trace'
import { newsOf } from './news'
import { RenameForm } from './rename'

const ASKS: Record<'permission' | 'clarify' | 'secret', IconName> = { permission: 'hand', clarify: 'question', secret: 'key' }

export interface RowProps {
  entry: ListEntry
  current: boolean
  offline: boolean
  saved: boolean
  attention: Attention | null
  /** It takes the one tab stop of the list. */
  stop: boolean
  renaming: boolean
  /** Server's ms minus this device's. */
  skew: number
  onFocus: () => void
  onUnavailable: () => void
  onRename: () => void
  onRenamed: (title: string | null, left: boolean) => void
  onDelete: () => void
}

/** One chat: state, title, age; a second line only when it has news. */
export function Row(props: RowProps) {
  let button!: HTMLButtonElement
  let link!: HTMLAnchorElement
  const [menu, setMenu] = createSignal<HTMLElement | null>(null)
  const news = () => newsOf(props.entry, { offline: props.offline, saved: props.saved, attention: props.attention })
  const title = () => props.entry.title || t('list.untitled')
  const gone = () => news().state === 'notHere'
  return (
    <li class="ses-row">
      <Show
        when={!props.renaming}
        fallback={<RenameForm title={props.entry.title} label={t('list.rename.label')} onDone={(name, left) => props.onRenamed(name, left)} />}
      >
        <a
          ref={link}
          class="ses"
          classList={{ news: news().line !== undefined, unread: news().state === 'unread', gone: gone() }}
          href={`/session/${props.entry.id}`}
          data-session={props.entry.id}
          aria-current={props.current ? 'page' : undefined}
          aria-disabled={gone() ? 'true' : undefined}
          tabindex={props.stop ? 0 : -1}
          onFocus={() => props.onFocus()}
          onClick={(press) => {
            if (!gone()) return
            press.preventDefault()
            props.onUnavailable()
          }}
          onContextMenu={(press) => {
            press.preventDefault()
            setMenu(link)
          }}
          onKeyDown={(key) => {
            if (key.key === 'F2') props.onRename()
          }}
        >
          <span class="st" classList={{ need: news().tone === 'need', bad: news().tone === 'bad' }}>
            <Switch>
              <Match when={news().state === 'needs'}>
                <Icon name={ASKS[props.entry.line?.asks ?? 'permission'] ?? 'hand'} />
              </Match>
              <Match when={news().state === 'working'}>
                <Busy />
              </Match>
              <Match when={news().state === 'failed'}>
                <Icon name={props.entry.outcome === 'interrupted' ? 'unplug' : 'circle-alert'} />
              </Match>
              <Match when={news().state === 'unread'}>
                <span class="dot" />
              </Match>
              <Match when={gone()}>
                <Icon name="cloud-off" />
              </Match>
            </Switch>
          </span>
          <span class="l1">
            <span class="ti" dir="auto">
              {title()}
            </span>
            <span class="wh">
              <Show when={!props.offline && props.entry.queued}>
                <span class="qd" aria-hidden="true">
                  <Icon name="list-plus" />
                  {props.entry.queued}
                </span>
              </Show>
              <Show when={props.entry.pinned}>
                <Icon name="pin" />
              </Show>
              <Age entry={props.entry} live={news().state === 'working'} skew={props.skew} />
            </span>
          </span>
          <Show when={news().line}>
            {(line) => (
              <span class="l2" classList={{ need: news().tone === 'need', bad: news().tone === 'bad' }}>
                <span dir="auto">{line()}</span>
                <Show when={news().state === 'working' && props.entry.ticks.length > 0}>
                  <Trace steps={props.entry.ticks} />
                </Show>
              </span>
            )}
          </Show>
          <Show when={news().spoken}>
            <span class="sr">, {news().spoken}</span>
          </Show>
          <Show when={!props.offline && props.entry.queued}>{(n) => <span class="sr">, {t('list.state.queued', { n: n() })}</span>}</Show>
        </a>
        <button
          ref={button}
          type="button"
          class="ib s"
          tabindex={-1}
          aria-label={t('list.options', { title: title() })}
          aria-haspopup="menu"
          aria-expanded={menu() !== null}
          onClick={() => setMenu(menu() ? null : button)}
        >
          <Icon name="ellipsis" size="s" />
        </button>
        <Show when={menu()} keyed>
          {(anchor) => (
            <Menu
              anchor={anchor}
              label={t('list.options', { title: title() })}
              align={anchor === button ? 'end' : 'start'}
              onClose={() => setMenu(null)}
              items={[
                { label: t('list.rename'), icon: 'pencil', keys: 'F2', run: () => props.onRename() },
                { label: t('list.delete'), icon: 'trash', danger: true, line: true, run: () => props.onDelete() },
              ]}
            />
          )}
        </Show>
      </Show>
    </li>
  )
}

/** Time of this turn while it runs, else how long ago something happened. */
function Age(props: { entry: ListEntry; live: boolean; skew: number }) {
  return (
    <Show when={props.live && props.entry.since !== undefined} fallback={<Quiet at={props.entry.lastAt} skew={props.skew} />}>
      <Running since={props.entry.since!} skew={props.skew} />
    </Show>
  )
}

function Quiet(props: { at: number; skew: number }) {
  const at = now.minute()
  return <>{age(props.at, at() + props.skew)}</>
}

function Running(props: { since: number; skew: number }) {
  const at = now.second()
  return <>{running(at() + props.skew - props.since)}</>
}
