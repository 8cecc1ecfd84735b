import { batch, createEffect, createMemo, createSignal, createUniqueId, For, Match, on, onMount, Show, Switch, untrack } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { Choice } from '../../server/contract/approvals'
import type { OpenQuestion } from '../sync/reactive'
import { Icon, type IconName } from '../ui/icon'
import { ClarifyQuestion } from './clarify'
import { Frame, State } from './frame'
import { makeGuard } from './guard'
import { listenForAnswers } from './keys'
import { Permission } from './permission'
import type { Phase, QuestionsProps, Typed } from './port'
import { SecretQuestion } from './secret'
import { placeOf } from './typed'
import { doneOf, isGone, lineOf, outcomeOf, refusalOf, spokenOf } from './words'

/** Why the last answer on a row was not taken. A relay that failed asks anew, with another id on the same row. */
interface Failed { question: string; row: string; reason: string; again: boolean }

const ICONS: Record<OpenQuestion['kind'], IconName> = { approval: 'hand', clarify: 'question', secret: 'key' }

/**
 * What a run asks of a person, one card for all of it, docked above the message box (a sheet in its place on phones). The oldest that can be
 * answered comes first; what the agent asks next stands below without answers. Focus goes to the first answer unless a text field has it;
 * Enter acts only outside text; Esc folds and never answers.
 */
export function Questions(props: QuestionsProps) {
  const id = createUniqueId()
  // The clock is asked at each press; nothing follows it.
  // eslint-disable-next-line solid/reactivity
  const guard = makeGuard(() => props.now())
  const [folded, setFolded] = createSignal(false)
  const [chosen, setChosen] = createSignal<string | null>(null)
  const [held, setHeld] = createSignal<{ question: OpenQuestion; choice?: string } | null>(null)
  const [gone, setGone] = createSignal(new Set<string>())
  const [failed, setFailed] = createSignal<Failed | null>(null)
  const [sure, setSure] = createSignal<Choice | null>(null)
  const [typed, setTyped] = createSignal<Typed | null>(null)
  /** Answered from here: what becomes of them is no news. */
  const own = new Set<string>()
  let card: HTMLElement | undefined
  let first: HTMLElement | undefined
  let open: HTMLButtonElement | undefined

  const waits = (one: OpenQuestion) => one.kind === 'approval' && one.asked.waits === true
  const answerable = createMemo(() => props.questions.filter((one) => !waits(one)))
  const next = createMemo(() => props.questions.filter(waits))
  // While an answer is on its way its card stays: whether it was taken is not known yet.
  const current = createMemo<OpenQuestion | undefined>(
    () => held()?.question ?? answerable().find((one) => one.asked.id === chosen()) ?? answerable()[0] ?? next()[0],
  )
  const currentId = createMemo(() => current()?.asked.id)
  const place = () => Math.max(0, answerable().findIndex((one) => one.asked.id === currentId()))
  const phase = createMemo<Phase>(() => {
    const asked = current()?.asked
    const sent = held()
    const last = failed()
    if (sent) return { at: 'sending', ...(sent.choice === undefined ? {} : { choice: sent.choice }) }
    if (asked && gone().has(asked.id)) return { at: 'gone' }
    if (asked && last && (last.question === asked.id || (last.again && last.row === asked.row))) return { at: 'failed', reason: last.reason }
    return { at: 'asking' }
  })
  const off = () => !props.online || props.stopping || phase().at === 'sending' || phase().at === 'gone' || (current() !== undefined && waits(current()!))
  /** Asked anew because the last answer did not reach the agent: that is told as a failure, not as news. */
  const again = (one: OpenQuestion) => failed()?.again === true && failed()!.row === one.asked.row

  const focusFirst = () => {
    queueMicrotask(() => {
      // Who writes goes on writing.
      if (inText(document.activeElement)) return
      // A keyboard on the glass is opened by the person, never by a question.
      const to = folded() ? open : props.fingers && first && inText(first) ? card : (first ?? card)
      to?.focus({ preventScroll: true })
    })
  }
  createEffect(
    on(currentId, (now, before) => {
      if (!now) {
        if (before) props.onGone?.()
        return
      }
      const { quiet } = props
      batch(() => {
        setSure(null)
        if (!again(current()!)) setFolded(quiet)
      })
      props.onFold?.(folded())
      guard.shown()
      focusFirst()
    }),
  )
  // What came is announced once; what left without an answer from here says in one line why.
  let known: OpenQuestion[] = []
  createEffect(
    on(
      () => props.questions,
      (now) => {
        const news = now.filter((one) => !known.some((old) => old.asked.id === one.asked.id) && !again(one) && held()?.question.asked.row !== one.asked.row)
        const left = known.filter((old) => !now.some((one) => one.asked.id === old.asked.id))
        for (const one of left) if (!own.has(one.asked.id)) tellEnd(one)
        for (const one of news) {
          if (one.asked.id === currentId()) props.alarm(spokenOf(one))
          else props.announce(t('ask.another', { action: lineOf(one) }))
        }
        known = now
        settleTyped()
      },
    ),
  )
  const tellEnd = (one: OpenQuestion) => {
    const words = outcomeOf(one, props.rowOf(one.asked.row))
    if (words) props.tell(words)
    else props.announce(t('ask.over.run_ended'))
  }

  /** Words that were typed for a question stay with it, and find another place when it goes. */
  const note = (value: Typed | null) => {
    setTyped(value)
    props.kept.keep(value && value.text.trim() !== '' ? value : null)
  }
  const settleTyped = () => {
    const words = typed()
    if (!words || own.has(words.question)) return
    const place = placeOf(words, props.questions)
    if (place.to === 'stay') return
    if (place.to === 'question') {
      note({ question: place.question, text: words.text })
      props.tell(t('clarify.carried'))
      return
    }
    note(null)
    if (place.to === 'box') {
      props.rescue(words.text)
      props.tell(t('clarify.rescued'))
    }
  }
  onMount(() => {
    void props.kept.load().then((kept) => {
      if (!kept || typed()) return
      setTyped(kept)
      settleTyped()
    })
  })

  /** Gives an answer: the card waits for it, and says what became of it. True when it was taken up. */
  const send = (question: OpenQuestion, choice: string | undefined, work: () => Promise<void>, done: string): boolean => {
    if (off() || !guard.armed()) return false
    const { id: asked, row } = question.asked
    own.add(asked)
    batch(() => {
      setFailed(null)
      setHeld(choice === undefined ? { question } : { question, choice })
    })
    void work().then(
      () => {
        batch(() => {
          setHeld(null)
          // It leaves with the event; until then it takes nothing more.
          setGone((all) => new Set(all).add(asked))
          if (typed()?.question === asked) note(null)
        })
        props.announce(done)
      },
      (error: unknown) => {
        own.delete(asked)
        batch(() => {
          setHeld(null)
          if (isGone(error)) setGone((all) => new Set(all).add(asked))
          else setFailed({ question: asked, row, reason: refusalOf(error), again: isRelay(error) })
        })
        const still = props.questions.some((one) => one.asked.id === asked || one.asked.row === row)
        if (!still) tellEnd(question)
        // What was typed stays with the question that is asked anew.
        const anew = props.questions.find((one) => one.asked.row === row)
        if (typed()?.question === asked && anew) note({ question: anew.asked.id, text: typed()!.text })
        else settleTyped()
        guard.shown()
      },
    )
    return true
  }
  const choose = (choice: Choice) => {
    const question = current()
    if (question?.kind !== 'approval') return
    send(question, choice.id, () => props.decide(question.asked, choice), doneOf(choice.kind))
  }
  const fold = (value: boolean) => {
    setFolded(value)
    props.onFold?.(value)
    if (!value) guard.shown()
    focusFirst()
  }
  const step = (by: 1 | -1) => {
    const all = answerable()
    const to = all[(place() + by + all.length) % all.length]
    if (to && !held()) setChosen(to.asked.id)
  }

  listenForAnswers({
    active: () => current() !== undefined && !folded(),
    inside: (target) => card?.contains(target) === true,
    allow: () => {
      const choice = offered('once')
      if (choice && !sure()) choose(choice)
    },
    refuse: () => {
      const choice = offered('deny')
      if (choice) choose(choice)
    },
    number: (n) => {
      const question = current()
      const answer = question?.kind === 'clarify' ? question.asked.choices[n - 1] : undefined
      if (question?.kind === 'clarify' && answer !== undefined) reply(question, answer)
    },
    fold: () => fold(true),
  })
  const offered = (kind: Choice['kind']): Choice | undefined => {
    const question = current()
    return question?.kind === 'approval' ? question.asked.choices.find((choice) => choice.kind === kind) : undefined
  }
  const reply = (question: OpenQuestion & { kind: 'clarify' }, text: string) => send(question, text, () => props.reply(question.asked, text), t('ask.done.answered'))

  const state = (reason: string | null) => <State failed={reason} gone={phase().at === 'gone' && !own.has(currentId() ?? '')} online={props.online} stopping={props.stopping} />
  const title = (question: OpenQuestion) =>
    question.kind === 'approval' ? (waits(question) ? t('ask.waits') : t('ask.title')) : question.kind === 'clarify' ? t('clarify.title') : t(`secret.title.${question.asked.kind}`)

  return (
    <Show when={current()}>
      {(question) => (
        <Frame
          id={id}
          icon={ICONS[question().kind]}
          title={title(question())}
          role={question().kind === 'approval' ? 'alertdialog' : 'dialog'}
          line={lineOf(question())}
          folded={folded()}
          at={place() + 1}
          n={answerable().length}
          deadline={question().asked.deadline}
          skew={props.skew}
          announce={props.announce}
          onFold={fold}
          onStep={step}
          openRef={(element) => (open = element)}
          ref={(element) => (card = element)}
        >
          {/* One body for each question: nothing of one stays in the next. */}
          <Show when={currentId()} keyed>
            {(_id) => {
              first = undefined
              return (
                <Switch>
                  <Match when={ofKind(question(), 'approval')}>
                    {(one) => (
                      <Permission
                        id={id}
                        request={one().asked}
                        phase={phase()}
                        off={off()}
                        phone={props.phone}
                        waits={waits(one())}
                        skew={props.skew}
                        choose={choose}
                        onConfirm={(choice) => {
                          setSure(choice)
                          guard.shown()
                        }}
                        onAllowAll={() => props.onAllowAll()}
                        firstRef={(element) => (first = element)}
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
                        off={off()}
                        phone={props.phone}
                        fingers={props.fingers}
                        skew={props.skew}
                        text={typed()?.question === one().asked.id ? typed()!.text : ''}
                        onType={(text) => note({ question: untrack(one).asked.id, text })}
                        reply={(text) => reply(untrack(one), text)}
                        prose={props.prose}
                        firstRef={(element) => (first = element)}
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
                        off={off()}
                        fingers={props.fingers}
                        skew={props.skew}
                        give={(value) => {
                          const { asked } = untrack(one)
                          return send(untrack(one), value === null ? 'refuse' : 'give', () => props.give(asked, value), t(value === null ? 'ask.done.notGiven' : 'ask.done.given'))
                        }}
                        firstRef={(element) => (first = element)}
                        state={state}
                      />
                    )}
                  </Match>
                </Switch>
              )
            }}
          </Show>
          <Show when={next().length > 0}>
            <ul class="next" aria-label={t('ask.waits')}>
              <For each={next()}>
                {(one) => (
                  <li>
                    <Show when={one.asked.id !== currentId()} fallback={<span class="m2">{t('ask.waits.why')}</span>}>
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

/** The question where it is of this kind. */
function ofKind<K extends OpenQuestion['kind']>(question: OpenQuestion, kind: K): (OpenQuestion & { kind: K }) | undefined {
  return question.kind === kind ? (question as OpenQuestion & { kind: K }) : undefined
}

function isRelay(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 'relay_failed'
}

function inText(element: Element | null): boolean {
  return element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement || (element instanceof HTMLElement && element.isContentEditable)
}
