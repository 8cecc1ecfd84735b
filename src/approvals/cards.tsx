import { createUniqueId, For, Match, Show, Switch, untrack } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { OpenQuestion } from '../sync/reactive'
import { Icon, type IconName } from '../ui/icon'
import { createAsking, waits, type CardElements } from './asking'
import { ClarifyQuestion } from './clarify'
import { Frame, State } from './frame'
import { Permission } from './permission'
import type { QuestionsProps } from './port'
import { SecretQuestion } from './secret'
import { lineOf } from './words'

const ICONS: Record<OpenQuestion['kind'], IconName> = { approval: 'hand', clarify: 'question', secret: 'key' }

/**
 * What a run asks of a person, one card for all of it, docked above the message box (a sheet in its place on phones). The oldest that can be
 * answered comes first; what the agent asks next stands below without answers. Focus goes to the first answer unless a text field has it;
 * Enter acts only outside text; Esc folds and never answers.
 */
export function Questions(props: QuestionsProps) {
  const id = createUniqueId()
  const elements: CardElements = {}
  const asking = createAsking(props, elements)
  const { currentId, phase } = asking
  const state = (reason: string | null) => <State failed={reason} gone={goneElsewhere()} online={props.online} stopping={props.stopping} />
  const goneElsewhere = () => {
    const now = phase()
    return now.at === 'gone' && !now.own
  }
  const firstRef = (element: HTMLElement) => {
    elements.first = element
  }
  return (
    <Show when={asking.current()}>
      {(question) => (
        <Frame
          id={id}
          icon={ICONS[question().kind]}
          title={titleOf(question())}
          role={question().kind === 'approval' ? 'alertdialog' : 'dialog'}
          line={lineOf(question())}
          folded={asking.folded()}
          at={asking.place().at}
          n={asking.place().n}
          deadline={question().asked.deadline}
          skew={props.skew}
          announce={props.announce}
          onFold={asking.fold}
          onStep={asking.step}
          openRef={(element) => (elements.open = element)}
          ref={(element) => (elements.card = element)}
        >
          {/* One body for each question: nothing of one stays in the next. */}
          <Show when={currentId()} keyed>
            {(key) => {
              delete elements.first
              delete elements.own
              return (
                <Switch>
                  <Match when={ofKind(question(), 'approval')}>
                    {(one) => (
                      <Permission
                        id={id}
                        request={one().asked}
                        phase={phase()}
                        off={asking.off()}
                        phone={props.phone}
                        waits={waits(one())}
                        skew={props.skew}
                        choose={asking.choose}
                        onConfirm={asking.confirming}
                        onAllowAll={() => props.onAllowAll()}
                        firstRef={firstRef}
                        state={state}
                      />
                    )}
                  </Match>
                  <Match when={ofKind(question(), 'clarify')}>
                    {(one) => (
                      <ClarifyQuestion
                        id={id}
                        question={one().asked}
                        phase={phase()}
                        off={asking.off()}
                        phone={props.phone}
                        fingers={props.fingers}
                        skew={props.skew}
                        text={asking.typed.of(one().asked.id)}
                        onType={(text) => asking.typed.note(untrack(one).asked.id, text)}
                        reply={(text) => asking.reply(untrack(one).asked, text)}
                        prose={props.prose}
                        firstRef={firstRef}
                        ownRef={(element) => (elements.own = element)}
                        state={state}
                      />
                    )}
                  </Match>
                  <Match when={ofKind(question(), 'secret')}>
                    {(one) => (
                      <SecretQuestion
                        id={id}
                        secret={one().asked}
                        phase={phase()}
                        off={asking.off()}
                        skew={props.skew}
                        give={(value) => {
                          const taken = asking.give(untrack(one).asked, value)
                          if (taken) props.onSecret?.(false)
                          return taken
                        }}
                        onTyping={() => props.onSecret?.(true)}
                        onLeft={() => asking.left(key)}
                        firstRef={firstRef}
                        state={state}
                      />
                    )}
                  </Match>
                </Switch>
              )
            }}
          </Show>
          <Show when={asking.next().length > 0}>
            <ul class="next" aria-label={t('ask.waits')}>
              <For each={asking.next()}>
                {(one) => (
                  <li>
                    <Show when={one.asked.id !== currentId()} fallback={<span>{t('ask.waits.why')}</span>}>
                      <Icon name="hand" size="s" />
                      <b>{t('ask.waits')}</b>
                      <span class="cut" dir="auto">
                        {lineOf(one)}
                      </span>
                    </Show>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        </Frame>
      )}
    </Show>
  )
}

function titleOf(question: OpenQuestion): string {
  if (question.kind === 'clarify') return t('clarify.title')
  if (question.kind === 'secret') return t(`secret.title.${question.asked.kind}`)
  return waits(question) ? t('ask.waits') : t('ask.title')
}

/** The question where it is of this kind. */
function ofKind<K extends OpenQuestion['kind']>(question: OpenQuestion, kind: K): (OpenQuestion & { kind: K }) | undefined {
  return question.kind === kind ? (question as OpenQuestion & { kind: K }) : undefined
}
