import { createEffect, createMemo, createSignal, on, type Accessor } from 'solid-js'
import { t } from '../../i18n/on-demand'
import type { Choice } from '../../server/contract/approvals'
import type { OpenClarify, OpenQuestion, OpenSecret } from '../sync/reactive'
import { createAnswering, type Answer } from './answering'
import { swallowTyping } from './blind'
import { makeGuard } from './guard'
import { listenForAnswers } from './keys'
import type { Phase, QuestionsProps } from './port'
import { createTyped, type TypedWords } from './typed'
import { doneOf, lineOf, outcomeOf, spokenOf } from './words'

/** What the card shows and does; it draws nothing itself. */
export interface Asking {
  current: Accessor<OpenQuestion | undefined>
  currentId: Accessor<string | undefined>
  /** Asked next: without answers until the one before is over. */
  next: Accessor<OpenQuestion[]>
  /** Which of how many that can be answered, from 1. */
  place: () => { at: number; n: number }
  phase: Accessor<Phase>
  off: () => boolean
  folded: Accessor<boolean>
  fold: (folded: boolean) => void
  step: (by: 1 | -1) => void
  typed: TypedWords
  choose: (choice: Choice) => void
  reply: (question: OpenClarify, text: string) => void
  /** True: it was taken up, and the field can be emptied. */
  give: (secret: OpenSecret, value: string | null) => boolean
  /** The field of the secret on the card goes away while somebody is in it. */
  left: (secret: string) => void
  /** A choice for ever is being confirmed, or no more. */
  confirming: (choice: Choice | null) => void
}

/** Elements of the card as they stand: what takes the focus, and what a key may be meant for. */
export interface CardElements { card?: HTMLElement; first?: HTMLElement; own?: HTMLElement; open?: HTMLElement }

export function waits(question: OpenQuestion): boolean {
  return question.kind === 'approval' && question.asked.waits === true
}

/** Which question stands on the card, what a person does with it, and what is said of those that come and go. */
export function createAsking(props: QuestionsProps, elements: CardElements): Asking {
  const guard = makeGuard(() => props.now())
  const [folded, setFolded] = createSignal(false)
  const [chosen, setChosen] = createSignal<string | null>(null)
  let sure = false
  /** The last card went from under somebody who typed a secret. */
  let blind = false

  const answerable = createMemo(() => props.questions.filter((one) => !waits(one)))
  const next = createMemo(() => props.questions.filter(waits))
  const answering = createAnswering({
    announce: (text) => props.announce(text),
    onTaken: ({ asked }) => typed.taken(asked.id),
    onRefused: (question) => {
      const same = props.questions.find((one) => one.asked.row === question.asked.row)
      if (same) typed.follow(question.asked.id, same.asked.id)
      // It left already while its answer was on its way.
      else if (!known.some((one) => one.asked.id === question.asked.id)) tellEnd(question)
      typed.settle()
      guard.shown()
    },
  })
  const typed = createTyped(props, answering.own, (question) => {
    // Who was writing it, here or before a reload, goes on where it stands.
    queueMicrotask(() => {
      if (question === currentId() && !props.fingers && !writes()) elements.own?.focus({ preventScroll: true })
    })
  })
  const current = createMemo(() => answering.held() ?? answerable().find((one) => one.asked.id === chosen()) ?? answerable()[0] ?? next()[0])
  const currentId = createMemo(() => current()?.asked.id)
  const at = () => Math.max(0, answerable().findIndex((one) => one.asked.id === currentId()))
  const phase = createMemo(() => answering.phaseOf(current()))
  const off = () => !props.online || props.stopping || phase().at === 'sending' || phase().at === 'gone' || (current() !== undefined && waits(current()!))

  const focusFirst = () =>
    queueMicrotask(() => {
      // Who writes goes on writing; and it may be gone already.
      if (!current() || writes()) return
      const { card, first, open } = elements
      // A keyboard on the glass is opened by the person, never by a question; and an answer that nobody sees is pressed by nobody.
      const to = folded() ? open : blind || (first && ((props.fingers && isText(first)) || !inSight(first))) ? card : (first ?? card)
      to?.focus({ preventScroll: true })
      blind = false
    })
  const left = (secret: string) => {
    if (answering.own(secret) || props.questions.some((one) => one.asked.id === secret)) return
    blind = true
    swallowTyping()
  }
  createEffect(
    on(currentId, (now) => {
      if (!now) {
        if (stood) queueMicrotask(leave)
        return
      }
      sure = false
      if (!answering.again(current()!)) setFolded(props.quiet)
      props.onFold?.(folded())
      guard.shown()
      focusFirst()
    }),
  )
  // What came is announced once; what left without an answer from here says in one line why. Events of one append are taken together: a
  // question that was answered by itself in the append that raised it was never asked of anybody.
  let known: OpenQuestion[] = []
  let looks = false
  /** A person could have been at the card. */
  let stood = false
  const look = () => {
    looks = false
    const now = props.questions
    const asked = answering.held()?.asked.row
    const news = now.filter((one) => !known.some((old) => old.asked.id === one.asked.id) && !answering.again(one) && one.asked.row !== asked)
    const left = known.filter((old) => !now.some((one) => one.asked.id === old.asked.id))
    known = now
    for (const one of left) if (!answering.own(one.asked.id)) tellEnd(one)
    for (const one of news) {
      if (one.asked.id === currentId()) props.alarm(spokenOf(one))
      else props.announce(t('ask.another', { action: lineOf(one) }))
    }
    typed.settle()
    stood ||= now.length > 0
  }
  const leave = () => {
    if (current()) return
    stood = false
    props.onGone?.(blind)
    blind = false
  }
  createEffect(
    on(
      () => props.questions,
      () => {
        if (!looks) queueMicrotask(look)
        looks = true
      },
    ),
  )
  const tellEnd = (one: OpenQuestion) => {
    const words = outcomeOf(one, props.rowOf(one.asked.row))
    if (words) props.tell(words)
    else props.announce(t('ask.over.run_ended'))
  }

  const send = (answer: Answer): boolean => {
    if (off() || !guard.armed()) return false
    answering.send(answer)
    return true
  }
  const choose = (choice: Choice) => {
    const question = current()
    if (question?.kind === 'approval') send({ question, choice: choice.id, work: () => props.decide(question.asked, choice), done: doneOf(choice.kind) })
  }
  const reply = (asked: OpenClarify, text: string) => void send({ question: { kind: 'clarify', asked }, choice: text, work: () => props.reply(asked, text), done: t('ask.done.answered') })
  const fold = (value: boolean) => {
    setFolded(value)
    props.onFold?.(value)
    if (!value) guard.shown()
    focusFirst()
  }
  const offered = (kind: Choice['kind']): Choice | undefined => {
    const question = current()
    return question?.kind === 'approval' ? question.asked.choices.find((choice) => choice.kind === kind) : undefined
  }
  listenForAnswers({
    active: () => current() !== undefined && !folded(),
    inside: (target) => elements.card?.contains(target) === true,
    allow: () => {
      const choice = offered('once')
      if (choice && !sure) choose(choice)
    },
    refuse: () => {
      const choice = offered('deny')
      if (choice) choose(choice)
    },
    number: (n) => {
      const question = current()
      if (question?.kind !== 'clarify') return
      const { choices } = question.asked
      // The one after the last is that of words of one's own.
      if (n === choices.length + 1) elements.own?.focus()
      else if (choices[n - 1] !== undefined) reply(question.asked, choices[n - 1]!)
    },
    fold: () => fold(true),
  })
  return {
    current, currentId, next, phase, off, folded, fold, typed, choose, reply, left,
    place: () => ({ at: at() + 1, n: answerable().length }),
    step: (by) => {
      const all = answerable()
      const to = all[(at() + by + all.length) % all.length]
      if (to && !answering.held()) setChosen(to.asked.id)
    },
    give: (asked, value) => send({ question: { kind: 'secret', asked }, choice: value === null ? 'refuse' : 'give', work: () => props.give(asked, value), done: t(value === null ? 'ask.done.notGiven' : 'ask.done.given') }),
    confirming: (choice) => {
      sure = choice !== null
      guard.shown()
    },
  }
}

/** Somebody writes: not in an empty field that takes nothing. */
function writes(): boolean {
  const element = document.activeElement
  return isText(element) && !(element instanceof HTMLTextAreaElement && element.readOnly && element.value === '')
}

/** It is not scrolled out of the body of the card. */
function inSight(element: HTMLElement): boolean {
  const body = element.closest('.in')
  return !body || element.getBoundingClientRect().top <= body.getBoundingClientRect().bottom
}

function isText(element: Element | null): boolean {
  return element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement || (element instanceof HTMLElement && element.isContentEditable)
}
