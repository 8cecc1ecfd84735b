import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show, untrack } from 'solid-js'
import { t } from '../../i18n'
import { lastRun } from '../../server/contract/session'
import { Icon } from '../ui/icon'
import { createHighlights } from './highlights'
import { makeSlices, nextFrame, whenIdle } from './frames'
import { createTranscriptModel, type TurnCell } from './model'
import type { Asked, TranscriptProps } from './port'
import { sayFailure } from './say-failure'
import { firstBelow, makeScrollOwner, type ScrollOwner } from './scroll'
import { SurroundingsContext, type Surroundings } from './surroundings'
import { createClock } from './clock'
import { onPress } from './presses'
import { TurnView } from './turn'
import { createTurnWindow, MOST_ROWS } from './window'

/** A chat as a document whose headings are one's own questions (design/LANGUAGE.md §1). See `port.ts` for what it takes and gives. */
export function TranscriptView(props: TranscriptProps) {
  return (
    <Show when={props.chat} keyed>
      {(chat) => <OneChat {...props} chat={chat} />}
    </Show>
  )
}

/** From this far below the head older rows are mounted before the reader reaches them, in heights of the view. */
const AHEAD = 1.5

function OneChat(props: TranscriptProps) {
  let scroller!: HTMLDivElement
  let log!: HTMLDivElement
  let askedLine: HTMLButtonElement | undefined
  // Keyed: another chat is another component.
  const chat = untrack(() => props.chat)
  const model = createTranscriptModel(chat, nextFrame)
  const shown = createTurnWindow(model.turns)
  const [asked, setAsked] = createSignal<Asked | null>(null, { equals: (a, b) => a?.turn === b?.turn && a?.text === b?.text })
  const [away, setAway] = createSignal(false)
  const [loading, setLoading] = createSignal(chat.state() === 'loading')
  const [grown, setGrown] = createSignal(false)
  let owner: ScrollOwner | null = null
  let olderAsked = false
  let stopIdle: (() => void) | null = null
  let stopNewer: (() => void) | null = null

  const newest = createMemo(() => model.turns().at(-1)?.id)
  const newestLive = createMemo(() => {
    const turn = model.turns().at(-1)?.turn()
    const run = turn && lastRun(turn)
    return run ? { id: run.id, live: run.state !== 'settled', outcome: run.outcome, problem: run.problem?.code } : null
  })
  const surroundings: Surroundings = {
    online: () => props.online,
    get actions() {
      return props.actions
    },
    announce: (words, urgency) => props.announce(words, urgency),
    now: createClock(() => (props.now ?? Date.now)()),
    slices: makeSlices(nextFrame, () => performance.now()),
    onCode: createHighlights((text, language) => import('./worker-colourer').then(({ workerColourer }) => workerColourer(text, language))),
    choices: choicesOf(chat.session),
    session: chat.session,
    readsIn: (element) => owner?.readsIn(element) ?? false,
    newest,
  }

  /** Which question the head of the view belongs to, if it is out of sight. */
  const findAsked = (): Asked | null => {
    const head = scroller.getBoundingClientRect().top
    const turn = firstBelow(log.children, head + 40) as HTMLElement | null
    const question = turn?.querySelector<HTMLElement>(':scope > .tx-you')
    if (!turn || !question || question.getBoundingClientRect().bottom > head + 8) return null
    const text = question.querySelector('.tx-said')?.textContent ?? ''
    return { turn: turn.dataset.turn!, text: text.split('\n')[0]!.slice(0, 200) }
  }
  const onChange = () => {
    const following = owner?.following() ?? true
    const end = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop
    setAway(!following && (end > 80 || !shown.atEnd()))
    if (following) setGrown(false)
    setAsked(findAsked())
    if (scroller.scrollTop < scroller.clientHeight * AHEAD) wantOlder()
    if (end < scroller.clientHeight * AHEAD && !shown.atEnd()) wantNewer()
  }
  /** Mounts a step of older turns when there is time; asks for a window that is not here yet when none is left. */
  const wantOlder = () => {
    stopIdle ??= whenIdle(() => {
      stopIdle = null
      owner?.note()
      if (shown.older()) return
      if (olderAsked || chat.value().from === '' || chat.state() !== 'ready') return
      olderAsked = true
      void chat.older().then(
        (more) => {
          olderAsked = false
          if (more) wantOlder()
        },
        () => (olderAsked = false),
      )
    })
  }
  /** With the next frame: this is called while sizes are being observed, which must not change them. */
  const wantNewer = () => {
    stopNewer ??= nextFrame(() => {
      stopNewer = null
      owner?.note()
      shown.newer()
    })
  }
  const fillUp = () => {
    // What is one screen away is mounted in idle time, up to the limit; the rest when the reader comes near.
    const rows = shown.shown().reduce((sum, turn) => sum + turn.size(), 0)
    if (rows < MOST_ROWS / 2 && shown.before() > 0) wantOlder()
    else if (log.scrollHeight < scroller.clientHeight * 2) wantOlder()
  }

  const toQuestion = (turn: string) => {
    if (!shown.include(turn)) return
    const section = log.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turn)}"]`)
    if (!section) return
    owner?.toElement(section)
    const question = section.querySelector<HTMLElement>('.tx-you')
    question?.focus({ preventScroll: true })
    question?.classList.add('tx-flash')
    setTimeout(() => question?.classList.remove('tx-flash'), 1800)
  }
  const toEnd = () => {
    if (!shown.atEnd()) shown.reset()
    owner?.toEnd()
  }
  const step = (by: 1 | -1) => {
    const turns = model.turns()
    const head = scroller.getBoundingClientRect().top + 40
    const current = firstBelow(log.children, head) as HTMLElement | null
    const at = current ? model.indexOf(current.dataset.turn!) : turns.length
    const begun = current ? current.getBoundingClientRect().top < head - 60 : false
    const next = turns[by < 0 ? (begun ? at : at - 1) : at + 1]
    if (next) toQuestion(next.id)
    else if (by > 0) toEnd()
  }
  const toRow = (id: string) => {
    const row = chat.value().rows.get(id)
    if (!row || !shown.include(row.turn)) return
    const section = log.querySelector<HTMLElement>(`[data-turn="${CSS.escape(row.turn)}"]`)
    const find = () => section?.querySelector(`[data-row="${CSS.escape(id)}"]`)
    if (!find()) section?.querySelector<HTMLElement>('.tx-head[aria-expanded="false"]')?.click()
    const element = find() ?? section
    if (element) owner?.toElement(element)
  }

  onMount(() => {
    owner = makeScrollOwner({ scroller, content: log, covered: () => (askedLine?.offsetParent ? askedLine.offsetHeight : 0), onChange })
    owner.toEnd()
    const stop = chat.subscribe((news) => {
      if (news.type === 'state') setLoading(chat.state() === 'loading')
      else {
        setLoading(chat.state() === 'loading')
        if (!owner?.following()) setGrown(true)
      }
    })
    onCleanup(() => {
      stop()
      stopIdle?.()
      stopNewer?.()
      owner?.stop()
    })
    untrack(() => props.ready?.({ toEnd, toQuestion, step, toRow }))
    fillUp()
  })
  createEffect(on(shown.shown, () => {
    queueMicrotask(() => {
      if (!scroller.isConnected) return
      if (owner?.following()) shown.trim()
      fillUp()
    })
  }))
  createEffect(on(asked, (now) => props.onAsked?.(now), { defer: true }))
  // Start, end and failure are said once, for the newest turn, and never for what was already over when the chat was opened.
  createEffect(on(newestLive, (now, before) => {
    if (!now || !before) return now
    if (now.live && now.id !== before.id) props.announce(t('answer.started'), 'polite')
    else if (!now.live && before.live && now.id === before.id) {
      if (now.outcome === 'failed') void sayFailure(now.problem ?? 'error', props.announce)
      else props.announce(t(now.outcome === 'cancelled' ? 'answer.stopped' : now.outcome === 'interrupted' ? 'answer.broke' : 'answer.announce'), 'polite')
    }
    return now
  }))

  return (
    <SurroundingsContext.Provider value={surroundings}>
      <div class="tx">
        <Show when={asked()}>
          {(line) => (
            <div class="tx-asked">
              <button ref={(element) => (askedLine = element)} type="button" aria-label={t('asked.go', { question: line().text })} onClick={() => toQuestion(line().turn)}>
                <span class="cut grow" dir="auto">
                  {line().text}
                </span>
                <Icon name="arrow-up" size="s" />
              </button>
            </div>
          )}
        </Show>
        <div ref={scroller} class="tx-scroll" tabindex="0" role="region" aria-label={t('turn.region')} aria-busy={loading() ? 'true' : undefined} onClick={(press) => onPress(press, surroundings)}>
          <Show when={loading()}>
            <div class="tx-loading" aria-hidden="true">
              <span class="sk" />
              <span class="sk" />
              <span class="sk" />
            </div>
          </Show>
          <Show when={!props.online && model.partial() && shown.before() === 0}>
          <p class="tx-edge meta">{t('turn.notHere')}</p>
        </Show>
        <div ref={log} class="tx-log">
            <For each={shown.shown()}>{(cell: TurnCell) => <TurnView cell={cell} ref={(element) => guessHeight(element, cell, Math.min(720, scroller.clientWidth))} />}</For>
          </div>
        </div>
        <Show when={away()}>
          <button type="button" class="tx-pill" onClick={toEnd}>
            <Icon name="arrow-down" size="s" />
            {grown() ? t('end.new') : t('end.jump')}
          </button>
        </Show>
      </div>
    </SurroundingsContext.Provider>
  )
}

const allChoices = new Map<string, Map<string, boolean>>()

/** What a person opened or folded in a chat, for as long as the page lives. */
function choicesOf(session: string): Map<string, boolean> {
  const known = allChoices.get(session) ?? new Map<string, boolean>()
  allChoices.set(session, known)
  return known
}

/**
 * The browser remembers the height of a section that it has drawn once; before that it is guessed from what it holds: about 220 square
 * pixels per character at reading size, and the frame around it.
 */
function guessHeight(element: HTMLElement, cell: TurnCell, width: number): void {
  element.style.setProperty('--tx-h', `${Math.round(140 + (cell.length() * 220) / Math.max(200, width))}px`)
}
