import { createEffect, onCleanup, untrack, type Accessor } from 'solid-js'
import { t } from '../../i18n'
import type { Notices } from '../ui/notices'

/** Offers a new build with a toast that stays. Never while somebody writes or a turn runs (`busy`): the offer waits. `load` is null while there is none. */
export function createOffer(notices: Notices, load: Accessor<(() => void) | null>, busy: () => boolean): void {
  createEffect(() => {
    const run = load()
    const waits = busy()
    if (!run || waits) return
    onCleanup(untrack(() => notices.toast({ kind: 'plain', icon: 'refresh', stays: true, text: t('net.update.ready'), action: { label: t('net.update.load'), run } })))
  })
}
