import { createSignal, Match, Show, Switch } from 'solid-js'
import { t } from '../../i18n'
import { running } from '../../i18n/format'
import type { RunProblem } from '../../server/contract/problems'
import type { Run, Turn } from '../../server/contract/session'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import { useSurroundings } from './surroundings'

/** How a turn ended, where that is not simply its answer: exactly one such line per turn, drawn from its last run. */
export function Ending(props: { turn: Turn; run: Run; silent: boolean }) {
  return (
    <Switch>
      <Match when={props.run.outcome === 'failed'}>
        <ErrorCard turn={props.turn} problem={props.run.problem ?? { code: 'error' }} />
      </Match>
      <Match when={props.run.outcome === 'cancelled'}>
        <p class="tx-mk">
          <Icon name="circle-dashed" size="s" />
          <span>{t(props.run.stoppedBy === 'server' ? 'over.stoppedServer' : 'over.stopped', { time: running(took(props.run)) })}</span>
        </p>
      </Match>
      <Match when={props.run.outcome === 'interrupted'}>
        <div class="tx-mk">
          <Icon name="unplug" size="s" />
          <div>
            <p>{t('over.broke', { cause: causeOf(props.run) })}</p>
            <Show when={props.run.problem?.words}>{(words) => <p class="tx-own" dir="ltr">{words()}</p>}</Show>
            <Retry turn={props.turn} quiet />
          </div>
        </div>
      </Match>
      <Match when={props.run.outcome === 'completed' && props.run.reason === 'limit'}>
        <p class="tx-mk">
          <Icon name="circle-dashed" size="s" />
          <span>{t('turn.limit')}</span>
        </p>
      </Match>
      <Match when={props.run.outcome === 'completed' && props.silent}>
        <p class="tx-mk">
          <Icon name="circle-dashed" size="s" />
          <span>{t('turn.noReply')}</span>
        </p>
      </Match>
    </Switch>
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

/** What happened in our words, what it means, the provider's own words unchanged, then what can be done (design/LANGUAGE.md §8). */
function ErrorCard(props: { turn: Turn; problem: RunProblem }) {
  const { actions, announce, newest } = useSurroundings()
  const newestOne = () => newest() === props.turn.id
  const modelFirst = () => ['model_not_found', 'quota_exhausted', 'no_model', 'context_full', 'auth_mismatch'].includes(props.problem.code)
  const copy = async () => {
    const ok = await actions.copy([t(`error.${props.problem.code}`), props.problem.words].filter(Boolean).join('\n'))
    announce(ok ? t('answer.copied') : t('answer.copyFailed'), 'polite')
  }
  return (
    <section class="tx-err" aria-label={t(`error.${props.problem.code}`)}>
      <h3>
        <Icon name="circle-alert" size="s" />
        {t(`error.${props.problem.code}`)}
      </h3>
      <p>{props.problem.hint ?? t(`error.${props.problem.code}.hint`)}</p>
      <Show when={props.problem.words}>
        {(words) => (
          <p class="tx-own" dir="ltr">
            {words()}
          </p>
        )}
      </Show>
      <div class="acts">
        <Show when={newestOne()}>
          <Show when={modelFirst()} fallback={<Retry turn={props.turn} />}>
            <Button onPress={() => actions.chooseModel()}>{t('over.model')}</Button>
          </Show>
          <Show when={modelFirst()} fallback={<Button kind="quiet" onPress={() => actions.chooseModel()}>{t('over.model')}</Button>}>
            <Retry turn={props.turn} quiet />
          </Show>
        </Show>
        <span class="grow" />
        <IconButton icon="copy" name={t('over.copy')} small onPress={() => void copy()} />
      </div>
    </section>
  )
}

/** *Try again*: another run of the same turn. Only the newest turn has it. */
export function Retry(props: { turn: Turn; quiet?: boolean }) {
  const { actions, online, newest } = useSurroundings()
  const [state, setState] = createSignal<'idle' | 'busy' | { failed: string }>('idle')
  const failed = () => {
    const now = state()
    return typeof now === 'object' ? now.failed : null
  }
  const press = async () => {
    setState('busy')
    try {
      await actions.retry(props.turn.id)
      setState('idle')
    } catch (reason) {
      setState({ failed: reason instanceof Error ? reason.message : String(reason) })
    }
  }
  return (
    <Show when={newest() === props.turn.id}>
      <Button kind={props.quiet ? 'quiet' : 'outline'} busy={state() === 'busy'} disabled={!online()} onPress={() => void press()}>
        {state() === 'busy' ? t('over.retrying') : t('over.retry')}
      </Button>
      <Show when={!online()}>
        <span class="meta">{t('over.retryOffline')}</span>
      </Show>
      <Show when={failed()}>
        {(reason) => (
          <span class="meta bad" role="alert">
            {t('over.retryFailed', { reason: reason() })}
          </span>
        )}
      </Show>
    </Show>
  )
}
