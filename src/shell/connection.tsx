import { Match, Switch } from 'solid-js'
import { t } from '../../i18n'
import type { Connection } from '../sync/port'
import type { BannerState } from './banner-state'

/** The host beside the mark: quiet when all is well, with a ring and words when it is not. */
export function ConnectionMark(props: { connection: Connection; banner: BannerState }) {
  return (
    <Switch>
      <Match when={props.banner.show === 'lost' && props.connection.state === 'offline'}>
        <span class="conn off">{t('net.offline.short')}</span>
      </Match>
      <Match when={props.banner.show === 'lost' && props.connection.state === 'reconnecting' && props.connection}>
        {(lost) => <span class="conn try">{t('net.reconnect', { n: (lost() as { attempt: number }).attempt })}</span>}
      </Match>
    </Switch>
  )
}
