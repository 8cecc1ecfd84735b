import { createSignal, For, Match, Show, Switch } from 'solid-js'
import { running } from '../../i18n/format'
import { t } from '../../i18n/on-demand'
import type { RunProblem, RunProblemCode } from '../../server/contract/problems'
import type { Run, Turn } from '../../server/contract/session'
import { reasonOf } from '../shell/reason'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import { useSurroundings } from './surroundings'

/** What a person can do about a turn that did not simply answer. */
type NextStep = 'retry' | 'goOn' | 'model' | 'agent' | 'settings' | 'connect' | 'newChat'

/** What can be done about each problem, the most promising first. Unknown ones of a newer server can be tried again. */
const STEPS: Record<RunProblemCode, readonly NextStep[]> = {
  quota_exhausted: ['model', 'settings', 'retry'],
  rate_limit: ['retry', 'model'],
  auth_mismatch: ['settings', 'model', 'retry'],
  credential_pool_empty: ['settings', 'model', 'retry'],
  model_not_found: ['model', 'retry'],
  no_response: ['retry', 'model'],
  tool_limit_reached: ['goOn', 'retry'],
  context_full: ['model', 'newChat'],
  compression_exhausted: ['newChat', 'model'],
  compression_snapshot_stale: ['retry'],
  cancelled: ['goOn', 'retry'],
  interrupted: ['goOn', 'retry'],
  error: ['retry', 'model'],
  provider_unreachable: ['retry', 'settings', 'model'],
  provider_error: ['retry', 'model'],
  provider_garbled: ['retry', 'model'],
  agent_silent: ['goOn', 'retry'],
  agent_died: ['goOn', 'retry'],
  agent_unavailable: ['retry', 'agent'],
  no_model: ['connect', 'retry'],
  server_restarted: ['goOn', 'retry'],
  server_stopped: ['goOn', 'retry'],
  store_failed: ['retry', 'goOn'],
}

/** How a turn ended, where that is not simply its answer: exactly one such line per turn, drawn from its last run. */
export function Ending(props: { turn: Turn; run: Run; silent: boolean }) {
  return (
    <Switch>
      <Match when={props.run.outcome === 'failed'}>
        <ErrorCard turn={props.turn} problem={props.run.problem ?? { code: 'error' }} />
      </Match>
      <Match when={props.run.outcome === 'cancelled'}>
        <Line icon="circle-dashed" turn={props.turn} steps={['goOn', 'retry']} words={t(props.run.stoppedBy === 'server' ? 'over.stoppedServer' : 'over.stopped', { time: running(took(props.run)) })} />
      </Match>
      <Match when={props.run.outcome === 'interrupted'}>
        <Line icon="unplug" turn={props.turn} steps={['goOn', 'retry']} words={t('over.broke', { cause: causeOf(props.run) })} own={props.run.problem?.words} />
      </Match>
      <Match when={props.run.outcome === 'completed' && props.run.reason === 'limit'}>
        <Line icon="circle-dashed" turn={props.turn} steps={['goOn']} words={t('over.limit')} />
      </Match>
      <Match when={props.run.outcome === 'completed' && props.silent}>
        <Line icon="circle-dashed" turn={props.turn} steps={['retry']} words={t('over.noReply')} />
      </Match>
    </Switch>
  )
}

/** What is said aloud when a turn has failed. */
export function failureOf(problem: RunProblemCode): string {
  return t('over.announce', { title: t(`error.${problem in STEPS ? problem : 'error'}`) })
}

/** The agent lived on while the server was restarted (spec/log.md §9). */
export function Reattached() {
  return (
    <p class="tx-mk">
      <Icon name="refresh" size="s" />
      <span>{t('over.reattached')}</span>
    </p>
  )
}

function took(run: Run): number {
  return run.timings?.total ?? (run.settledAt ?? run.startedAt) - run.startedAt
}

function causeOf(run: Run): string {
  switch (run.problem?.code ?? run.reason) {
    case 'server_restarted': return t('over.cause.server_restarted')
    case 'server_stopped': return t('over.cause.server_stopped')
    case 'store_failed': return t('over.cause.store_failed')
    case 'agent_died': return t('over.cause.agent_died')
    default: return t('over.cause.other')
  }
}

function Line(props: { icon: 'circle-dashed' | 'unplug'; words: string; own?: string; turn: Turn; steps: readonly NextStep[] }) {
  return (
    <div class="tx-mk">
      <Icon name={props.icon} size="s" />
      <div>
        <p>{props.words}</p>
        <Show when={props.own}>{(words) => <p class="tx-own" dir="auto">{words()}</p>}</Show>
        <NextSteps turn={props.turn} steps={props.steps} quiet />
      </div>
    </div>
  )
}

/** What happened in our words, what it means, the provider's own words unchanged, then what can be done (design/LANGUAGE.md §8). */
function ErrorCard(props: { turn: Turn; problem: RunProblem }) {
  const { actions, announce } = useSurroundings()
  // A newer server may name problems that this build does not know.
  const code = () => (props.problem.code in STEPS ? props.problem.code : 'error')
  const copy = async () => {
    const ok = await actions.copy([t(`error.${code()}`), props.problem.words].filter(Boolean).join('\n'))
    announce(ok ? t('answer.copied') : t('answer.copyFailed'), 'polite')
  }
  return (
    <section class="tx-err" aria-label={t(`error.${code()}`)}>
      <h3>
        <Icon name="circle-alert" size="s" />
        {t(`error.${code()}`)}
      </h3>
      <p dir="auto">{props.problem.hint ?? t(`error.${code()}.hint`)}</p>
      <Show when={props.problem.words}>
        {(words) => (
          <p class="tx-own" dir="auto">
            {words()}
          </p>
        )}
      </Show>
      <div class="row">
        <NextSteps turn={props.turn} steps={STEPS[code()]} />
        <span class="grow" />
        <IconButton icon="copy" name={t('over.copy')} small onPress={() => void copy()} />
      </div>
    </section>
  )
}

/** Only the newest turn offers to go on; `quiet`: none of the steps is pressed upon the reader. */
function NextSteps(props: { turn: Turn; steps: readonly NextStep[]; quiet?: boolean }) {
  const { actions, online, newest } = useSurroundings()
  const [busy, setBusy] = createSignal<NextStep | null>(null)
  const [failed, setFailed] = createSignal<string | null>(null)
  const go = async (step: NextStep, work: Promise<void>) => {
    setFailed(null)
    setBusy(step)
    try {
      await work
    } catch (reason) {
      setFailed(reasonOf(reason))
    }
    setBusy(null)
  }
  const press = (step: NextStep) => {
    switch (step) {
      case 'retry': return void go(step, actions.retry(props.turn.id))
      case 'goOn': return void go(step, actions.goOn(t('over.goOn.text')))
      case 'model': return actions.chooseModel()
      case 'newChat': return actions.newChat()
      case 'agent': return actions.openSettings('agent')
      default: return actions.openSettings()
    }
  }
  const asks = (step: NextStep) => step === 'retry' || step === 'goOn'
  const blocked = (step: NextStep) => busy() !== null || (asks(step) && !online())
  const label = (step: NextStep) => (busy() === step ? t(step === 'retry' ? 'over.retrying' : 'over.going') : t(`over.${step}`))
  return (
    <Show when={newest() === props.turn.id}>
      <div class="acts">
        <For each={props.steps}>
          {(step, index) => (
            <Button kind={props.quiet || index() > 0 ? 'quiet' : 'outline'} busy={busy() === step} disabled={blocked(step)} onPress={() => press(step)}>
              {label(step)}
            </Button>
          )}
        </For>
        <Show when={!online() && props.steps.some(asks)}>
          <span class="meta">{t('over.offline')}</span>
        </Show>
        <Show when={failed()}>
          {(reason) => (
            <span class="meta bad" role="alert">
              {t('over.failed', { reason: reason() })}
            </span>
          )}
        </Show>
      </div>
    </Show>
  )
}
