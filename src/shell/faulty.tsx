import { createEffect, on } from 'solid-js'
import { t } from '../../i18n'
import { Hollow } from './hollow'

export interface FaultyProps {
  error: unknown
  /** Where one is; `again` is called when that changes. */
  at?: () => unknown
  /** Draws what failed once more. */
  again?: () => void
}

/** A fault of ours: said once, with a way on. The console keeps the error for who looks. */
export function Faulty(props: FaultyProps) {
  createEffect(() => console.error(props.error))
  // What is elsewhere may be whole.
  createEffect(on(() => JSON.stringify(props.at?.()), () => props.again?.(), { defer: true }))
  return (
    <Hollow icon="triangle-alert" title={t('shell.faulty.title')} text={t('shell.faulty.text')}>
      <button type="button" class="b pri" onClick={() => location.reload()}>
        {t('shell.faulty.reload')}
      </button>
    </Hollow>
  )
}
