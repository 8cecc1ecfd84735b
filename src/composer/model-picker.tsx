import { createMemo, createResource, createSignal, createUniqueId, For, Show } from 'solid-js'
import { t } from '../../i18n'
import type { ModelsAnswer } from '../../server/contract/models'
import type { AgentKind, ModelRef } from '../../server/contract/session'
import { Busy } from '../ui/busy'
import { Choice } from '../ui/choice'
import { Icon } from '../ui/icon'
import { Popover } from '../ui/popover'
import { reasonOf } from '../shell/reason'
import { effortName } from './effort'

export interface PickerProps {
  anchor: HTMLElement
  current: ModelRef | null
  load: () => Promise<ModelsAnswer>
  onChoose: (model: ModelRef) => void
  effort: string | null
  onEffort: (effort: string | null) => void
  /** *Connect another model*, or what there is to know of the agent whose models these are. */
  onManage: (of: 'connections' | 'agent') => void
  onClose: () => void
}

interface Offer { ref: ModelRef; label: string; under: string; scripted: boolean; efforts: readonly string[] }

/** Models to choose from: a field that filters, then a list by connection. Combobox and listbox; arrows move, Enter takes. */
export function ModelPicker(props: PickerProps) {
  const id = createUniqueId()
  const [answer] = createResource(() => props.load())
  const [find, setFind] = createSignal('')
  const [at, setAt] = createSignal(-1)
  let field!: HTMLInputElement
  let list!: HTMLDivElement

  const offers = createMemo<Offer[]>(() => {
    if (answer.state !== 'ready') return []
    return answer().groups.flatMap((group) =>
      [...group.models, ...group.extra_models].map((model) => ({
        ref: { provider: group.provider_id, id: model.id },
        label: model.label || model.id,
        under: group.provider,
        scripted: group.source === 'scripted',
        efforts: model.efforts ?? [],
      })),
    )
  })
  const shown = createMemo(() => {
    const words = find().toLocaleLowerCase().split(/\s+/).filter(Boolean)
    return offers().filter((offer) => words.every((word) => `${offer.label} ${offer.ref.id} ${offer.under}`.toLocaleLowerCase().includes(word)))
  })
  const isCurrent = (offer: Offer) => offer.ref.id === props.current?.id && offer.ref.provider === props.current.provider
  /** What the model of this chat can be told; nothing where it cannot. */
  const efforts = createMemo(() => offers().find(isCurrent)?.efforts ?? [])
  const own = () => answer.state === 'ready' && !isOurs(answer().agent?.kind)
  const move = (to: number) => {
    const count = shown().length
    if (!count) return
    setAt((to + count) % count)
    list.querySelector(`#${CSS.escape(`${id}-${at()}`)}`)?.scrollIntoView({ block: 'nearest' })
  }
  const take = (offer: Offer | undefined) => {
    if (!offer) return
    props.onChoose(offer.ref)
    props.onClose()
  }
  return (
    <Popover
      anchor={props.anchor}
      role="dialog"
      label={t('composer.model')}
      class="models"
      align="end"
      onOpen={() => field.focus()}
      onClose={() => props.onClose()}
      onKey={(key) => {
        // The effort is chosen by arrows of its own.
        if (key.target !== field && key.target instanceof HTMLInputElement) return
        if (key.key === 'ArrowDown') move(at() + 1)
        else if (key.key === 'ArrowUp') move(at() < 0 ? -1 : at() - 1)
        else if (key.key === 'Enter' && key.target === field) take(shown()[Math.max(0, at())])
        else return
        key.preventDefault()
      }}
    >
      <div class="f quiet">
        <Icon name="search" size="s" />
        <input
          ref={field}
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-l`}
          aria-activedescendant={at() >= 0 ? `${id}-${at()}` : undefined}
          aria-label={t('composer.model.find')}
          placeholder={t('composer.model.find')}
          autocomplete="off"
          spellcheck={false}
          value={find()}
          onInput={(input) => {
            setFind(input.currentTarget.value)
            setAt(input.currentTarget.value ? 0 : -1)
          }}
        />
        <Show when={answer.loading}>
          <Busy />
        </Show>
      </div>
      <div ref={list} id={`${id}-l`} role="listbox" aria-label={t('composer.model')} aria-busy={answer.loading}>
        <For each={shown()}>
          {(offer, index) => (
            <>
              <Show when={index() === 0 || shown()[index() - 1]!.ref.provider !== offer.ref.provider}>
                <div class="mh" role="presentation">
                  {offer.under}
                </div>
              </Show>
              <div
                id={`${id}-${index()}`}
                class="mi"
                classList={{ at: at() === index() }}
                role="option"
                aria-selected={isCurrent(offer)}
                onClick={() => take(offer)}
              >
                <span class="grow">
                  {offer.label}
                  <Show when={offer.scripted}>
                    <span class="su">{t('composer.model.scripted')}</span>
                  </Show>
                </span>
                <Show when={isCurrent(offer)}>
                  <Icon name="check" size="s" />
                </Show>
              </div>
            </>
          )}
        </For>
      </div>
      <Show when={answer.error !== undefined}>
        <p class="none">{t('composer.model.failed', { reason: reasonOf(answer.error) })}</p>
      </Show>
      <Show when={answer.state === 'ready' && shown().length === 0}>
        <p class="none">{offers().length ? t('composer.model.noHits') : t(answer.state === 'ready' && answer().agent?.unlisted ? 'composer.model.unlisted' : 'composer.model.empty')}</p>
      </Show>
      <Show when={efforts().length > 0}>
        <div class="foot effort">
          <span class="meta" id={`${id}-e`}>
            {t('composer.effort')}
          </span>
          <Choice
            class="seg"
            labelledby={`${id}-e`}
            value={props.effort ?? ''}
            options={['', ...efforts()].map((value) => ({ value, shown: value === '' ? t('composer.effort.own') : effortName(value) }))}
            onChange={(value) => props.onEffort(value === '' ? null : value)}
          />
        </div>
      </Show>
      <div class="foot">
        <button
          type="button"
          class="mi"
          onClick={() => {
            props.onClose()
            props.onManage(own() ? 'agent' : 'connections')
          }}
        >
          <Icon name={own() ? 'bot' : 'plus'} size="s" />
          <span class="grow">{t(own() ? 'composer.model.agent' : 'composer.model.manage')}</span>
        </button>
      </div>
    </Popover>
  )
}

/** Models of the built-in agent and of the script are our own connections. */
function isOurs(kind: AgentKind | undefined): boolean {
  return kind === undefined || kind === 'embedded' || kind === 'scripted'
}
