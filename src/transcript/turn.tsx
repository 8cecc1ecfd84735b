import { createEffect, createMemo, createSignal, For, Match, on, Show, Switch, untrack } from 'solid-js'
import { t } from '../../i18n'
import { duration, tokens } from '../../i18n/format'
import type { AnswerRow, DividerRow, NoticeRow, UserRow } from '../../server/contract/rows'
import { lastRun, type Run } from '../../server/contract/session'
import { Busy } from '../ui/busy'
import { Icon } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import type { Part, RowCell, TurnCell } from './model'
import { Divider, Ending, Notice, Reattached, Stopping, Word } from './on-demand'
import { Prose } from './prose'
import { nameOf, Question } from './question'
import { useSurroundings } from './surroundings'
import { StepList, WorkHead } from './work'

/** One question and all that answers it. Its state is that of its last run (spec/log.md §1). */
export function TurnView(props: { cell: TurnCell; ref: (element: HTMLElement) => void }) {
  const { choices, online, newest, readsIn } = useSurroundings()
  let section!: HTMLElement
  // A run is replaced with every usage report; what follows reads only its parts.
  const run = createMemo(() => {
    const turn = props.cell.turn()
    return turn && lastRun(turn)
  })
  const live = createMemo(() => run() !== undefined && run()!.state !== 'settled')
  const parts = () => props.cell.parts()
  const steps = createMemo<readonly RowCell[]>(() => parts().flatMap((part) => (part.kind === 'steps' ? part.rows() : [])))
  const firstSteps = createMemo(() => parts().find((part) => part.kind === 'steps')?.id)
  const answers = createMemo(() => parts().filter((part) => part.kind === 'prose'))
  const key = () => `steps ${props.cell.id}`
  const [choice, setChoice] = createSignal(untrack(() => choices.get(key())))
  const open = () => choice() ?? live()
  const toggle = () => {
    const next = !open()
    choices.set(key(), next)
    setChoice(next)
  }
  // The steps fold when the turn ends, unless they are what is being read: nothing moves the reader.
  createEffect(on(live, (now, before) => {
    if (before && !now && choice() === undefined && [...section.querySelectorAll('.tx-steps')].some(readsIn)) setChoice(true)
  }))
  const name = () => {
    const question = props.cell.question()?.row() as UserRow | undefined
    return question ? nameOf(question).split('\n')[0]!.slice(0, 120) : ''
  }
  return (
    <section
      ref={(element) => {
        section = element
        props.ref(element)
      }}
      class="tx-turn"
      classList={{ 'tx-now': newest() === props.cell.id }}
      aria-label={name() || undefined}
      aria-busy={live() ? 'true' : undefined}
      data-turn={props.cell.id}
    >
      <Show when={props.cell.question()}>{(question) => <Question cell={question()} id={`q-${props.cell.id}`} editable={newest() === props.cell.id && !live()} stands={() => props.cell.size() > 0} />}</Show>
      <For each={parts()}>
        {(part) => (
          <Switch>
            <Match when={part.kind === 'steps' && part}>
              {(stretch) => (
                <>
                  <Show when={stretch().id === firstSteps()}>
                    <WorkHead cells={steps()} run={run()} open={open()} onToggle={toggle} />
                  </Show>
                  <Show when={open()}>
                    <StepList part={stretch()} live={live()} last={parts().at(-1) === stretch()} />
                  </Show>
                </>
              )}
            </Match>
            <Match when={part.kind === 'prose' && part}>{(prose) => <Prose cell={prose().cell} class="tx-md" />}</Match>
            <Match when={part.kind === 'notice' && part}>{(notice) => <Notice row={notice().cell.row() as NoticeRow} />}</Match>
            <Match when={part.kind === 'divider' && part}>{(divider) => <Divider row={divider().cell.row() as DividerRow} />}</Match>
            <Match when={part.kind === 'steer' && part}>{(word) => <Word cell={word().cell} />}</Match>
          </Switch>
        )}
      </For>
      <Show when={run()?.cause === 'reattached'}>
        <Reattached />
      </Show>
      <Show when={online() && run()?.state === 'stopping'}>
        <Stopping cells={steps()} />
      </Show>
      <Show when={!live() && endsOddly(run(), answers().length === 0) && run()}>{(ended) => <Ending turn={props.cell.turn()!} run={ended()} silent={answers().length === 0} />}</Show>
      <Show when={live() && !online()}>
        <p class="tx-mk">
          <Icon name="clock" size="s" />
          <span>{t('turn.goesOn')}</span>
        </p>
      </Show>
      <Foot parts={answers()} run={run()} live={live()} worked={steps().length > 0} />
    </section>
  )
}

/** It did not simply answer: there is something to say of its end. */
function endsOddly(run: Run | undefined, silent: boolean): boolean {
  return run !== undefined && (run.outcome !== 'completed' || run.reason === 'limit' || silent)
}

/** The line under an answer. It holds its place while the answer is written, so that nothing moves when it ends. */
function Foot(props: { parts: readonly Part[]; run: Run | undefined; live: boolean; worked: boolean }) {
  const { actions, announce, online } = useSurroundings()
  const copy = async () => {
    const text = props.parts.map((part) => (part.kind === 'prose' ? (part.cell.current() as AnswerRow).text : '')).join('\n\n')
    announce((await actions.copy(text)) ? t('answer.copied') : t('answer.copyFailed'), 'polite')
  }
  const usage = () => props.run?.usage
  return (
    <div class="tx-foot">
      <Show
        when={!props.live}
        fallback={
          <Show when={!props.worked && online()}>
            <Busy />
            <span class="sr">{t('answer.started')}</span>
          </Show>
        }
      >
        <Show when={props.parts.length > 0}>
          <IconButton icon="copy" name={t('answer.copy')} small onPress={() => void copy()} />
        </Show>
        <span class="tx-facts">
          <Show when={props.run?.model?.id}>{(id) => <span class="tx-model">{id()}</span>}</Show>
          <Show when={usage()?.input !== undefined && usage()?.output !== undefined}>
            <span>{t('answer.tokens', { input: tokens(usage()!.input!), output: tokens(usage()!.output!) })}</span>
          </Show>
          <Show when={!props.worked && props.run?.timings}>{(timings) => <span>{duration(timings().total)}</span>}</Show>
        </span>
      </Show>
    </div>
  )
}
