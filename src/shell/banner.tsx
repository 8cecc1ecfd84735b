import { Match, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { clock } from '../../i18n/format'
import { Icon } from '../ui/icon'
import { now } from '../ui/now'
import type { BannerState } from './banner-state'

/** Says calmly that the server is not there, since when, and that the page goes on by itself. */
export function Banner(props: { state: BannerState; savedAt: number | null; onRetry: () => void }) {
  const minute = now.minute()
  return (
    <div role="status" class="ban-place">
      <Switch>
        <Match when={props.state.show === 'lost' && props.state}>
          {(lost) => (
            <div class="ban">
              <Icon name="wifi-off" size="s" />
              <span class="grow">
                <b>{t('net.offline.title')}</b>{' '}
                <span class="m2">
                  <Show when={props.savedAt} fallback={<Show when={(lost() as { since: number }).since > 0}>{t('net.offline.since', { time: clock((lost() as { since: number }).since, minute()) })}</Show>}>
                    {(at) => t('net.offline.copy', { time: clock(at(), minute()) })}
                  </Show>
                  <span class="wide-only"> {t('net.offline.auto')}</span>
                </span>
              </span>
              <button type="button" class="b qui" onClick={() => props.onRetry()}>
                {t('net.offline.retry')}
              </button>
            </div>
          )}
        </Match>
        <Match when={props.state.show === 'back'}>
          <div class="ban back-again">
            <Icon name="check" size="s" />
            <span class="grow">{t('net.reconnected')}</span>
          </div>
        </Match>
      </Switch>
    </div>
  )
}
