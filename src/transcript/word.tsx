import { createEffect, createSignal, on, Show, untrack } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { SteerRow } from '../../server/contract/rows'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import type { RowCell } from './model'
import { useSurroundings } from './surroundings'

/** A word into the running turn, where it was said, and what became of it (spec/log.md §3): it is with the agent, was seen, or was given back. What was given back by a restart may be with the agent again. */
export function Word(props: { cell: RowCell }) {
  const { actions, announce, choices } = useSurroundings()
  const row = () => props.cell.row() as SteerRow
  const steer = () => row().steer
  const key = () => `word ${props.cell.id}`
  const [back, setBack] = createSignal(untrack(() => choices.get(key())) ?? false)
  const drafted = () => steer().state === 'returned' && steer().to !== 'queue'
  const state = () => {
    switch (steer().state) {
      case 'accepted': return t('word.accepted')
      case 'delivered': return steer().evidence === 'inferred' ? t('word.inferred') : t('word.delivered')
      default: return steer().to === 'queue' ? t('word.queue') : t('word.draft')
    }
  }
  createEffect(on(() => steer().state, (now, before) => {
    if (before !== undefined && now !== before) announce(now === 'returned' ? `${t('word.returned')}. ${state()}` : state(), 'polite')
  }))
  // It is on its way again: a second copy in the message box would be said twice.
  createEffect(() => {
    if (steer().state === 'returned' || !choices.delete(key())) return
    setBack(false)
    actions.takeBack(row().text)
  })
  return (
    <div class="tx-word" classList={{ 'tx-live': steer().state === 'accepted' }} data-row={props.cell.id} role="group" aria-label={t('word.said', { text: row().text.slice(0, 120) })}>
      <Icon name="corner-down-right" size="s" class="flip" />
      <div>
        <p class="tx-said" dir="auto">
          {row().text}
        </p>
        <p class="meta">{state()}</p>
        <Show when={drafted()}>
          <Button
            disabled={back()}
            onPress={() => {
              actions.putBack(row().text)
              choices.set(key(), true)
              setBack(true)
            }}
          >
            {back() ? t('word.isBack') : t('word.putBack')}
          </Button>
        </Show>
      </div>
    </div>
  )
}
