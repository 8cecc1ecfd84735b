import { createSignal, Match, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { Busy } from '../ui/busy'
import { Icon, type IconName } from '../ui/icon'
import { Menu } from '../ui/late-menu'
import { wayName, type Primary } from './primary'
import type { BusyWay } from './way'

const ICONS: Record<BusyWay, IconName> = { steer: 'corner-down-right', queue: 'list-plus', interrupt: 'octagon-x' }

export interface SendButtonProps {
  primary: Primary
  /** Other ways to send while a run is live. */
  others: BusyWay[]
  /** Sends this way, and makes it the usual one. */
  onWay: (way: BusyWay) => void
}

/** The one button of the box: an arrow, a stop mark, or one of three words that do different things, with a split half for the other two. */
export function SendButton(props: SendButtonProps) {
  const way = (): BusyWay | undefined => (isBusyWay(props.primary.act) ? props.primary.act : undefined)
  const look = () => (props.primary.act === 'stop' ? 'stop' : props.primary.act === 'off' ? props.primary.look : 'arrow')
  return (
    <Show
      when={way()}
      fallback={
        <button type="submit" class="go" aria-disabled={props.primary.act === 'off' ? 'true' : undefined} aria-label={props.primary.name} title={props.primary.name}>
          <Switch fallback={<Icon name="arrow-up" size="s" />}>
            <Match when={look() === 'stop'}>
              <span class="sq" />
            </Match>
            <Match when={look() === 'busy'}>
              <Busy />
            </Match>
          </Switch>
        </button>
      }
    >
      {(shown) => <Split way={shown()} others={props.others} onWay={props.onWay} />}
    </Show>
  )
}

function Split(props: { way: BusyWay; others: BusyWay[]; onWay: (way: BusyWay) => void }) {
  let half!: HTMLButtonElement
  const [open, setOpen] = createSignal(false)
  return (
    <span class="split" classList={{ steer: props.way === 'steer', int: props.way === 'interrupt' }}>
      <button type="submit" class="go txt">
        <Icon name={ICONS[props.way]} size="s" class={props.way === 'steer' ? 'flip' : undefined} />
        {wayName(props.way)}
      </button>
      <Show when={props.others.length > 0}>
        <button ref={half} type="button" class="go half" aria-label={t('composer.ways')} title={t('composer.ways')} aria-haspopup="menu" aria-expanded={open()} onClick={() => setOpen(!open())}>
          <Icon name="chevron-down" size="s" />
        </button>
        <Show when={open()}>
          <Menu
            anchor={half}
            label={t('composer.ways')}
            align="end"
            onClose={() => setOpen(false)}
            items={props.others.map((way) => ({ label: wayName(way), icon: ICONS[way], danger: way === 'interrupt', run: () => props.onWay(way) }))}
          />
        </Show>
      </Show>
    </span>
  )
}

function isBusyWay(act: Primary['act']): act is BusyWay {
  return act === 'steer' || act === 'queue' || act === 'interrupt'
}
