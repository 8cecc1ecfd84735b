import { createSignal, createUniqueId, For, Show } from 'solid-js'
import { t } from '../../i18n/agents'
import { clock } from '../../i18n/format'
import type { AgentInfo } from '../../server/contract/agents'
import { absenceOf, capabilitiesOf, faultOf, namedWith, stateOf } from '../agents/words'
import { reasonOf } from '../shell/reason'
import { Busy } from '../ui/busy'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import { IconButton } from '../ui/icon-button'
import { now } from '../ui/now'

export interface AgentSectionProps {
  agent: AgentInfo
  online: boolean
  restarting: boolean
  onRestart: () => void
  onAgain: () => void
  log: () => Promise<string>
  copy: (text: string) => Promise<boolean>
}

/** One agent: its state in words, what to do where it cannot be used, what it can do, its program and its log. */
export function AgentSection(props: AgentSectionProps) {
  const id = createUniqueId()
  const fault = () => faultOf(props.agent)
  const busy = () => props.restarting || props.agent.state === 'starting' || props.agent.state === 'degraded'
  const broken = () => props.agent.state === 'failed' || props.agent.state === 'unavailable'
  const can = () => capabilitiesOf(props.agent).filter((one) => one.has)
  const cannot = () => capabilitiesOf(props.agent).filter((one) => !one.has)
  return (
    <section class="set agent" aria-labelledby={id}>
      <h2 id={id}>{namedWith(props.agent, props.agent.version)}</h2>
      <div class="it">
        <p class="state" classList={{ bad: broken() && props.agent.fault !== 'no_model' }} role="status">
          <Show when={busy()}>
            <Busy />
          </Show>
          {props.restarting ? t('set.agent.restarting') : stateOf(props.agent)}
          <Show when={props.agent.chosen}>
            <span class="m3"> · {t('set.agent.used')}</span>
          </Show>
        </p>
        <div class="acts">
          <Show when={broken()}>
            <Button kind="quiet" disabled={!props.online} onPress={() => props.onAgain()}>
              {t('set.agent.again')}
            </Button>
          </Show>
          <Show when={props.agent.restarts !== undefined}>
            <Button kind="outline" disabled={!props.online || props.restarting} busy={props.restarting} onPress={() => props.onRestart()}>
              {t('set.agent.restart')}
            </Button>
          </Show>
        </div>
      </div>
      <Show when={fault()}>
        {(what) => (
          <div class="it st fault">
            <p>{what().what}</p>
            <Show when={props.agent.words}>
              {(words) => (
                <p class="hint code own" dir="auto">
                  {words()}
                </p>
              )}
            </Show>
            <p>{what().next}</p>
            <Show when={what().command}>{(command) => <Command text={command()} copy={(text) => props.copy(text)} />}</Show>
            <Show when={props.agent.fault === 'not_installed'}>
              <p class="hint">{t('set.agent.guide')}</p>
            </Show>
          </div>
        )}
      </Show>
      <Show when={!fault() && props.agent.words}>
        {(words) => (
          <p class="it st hint code own" dir="auto">
            {words()}
          </p>
        )}
      </Show>
      <Show when={can().length > 0}>
        <details class="it st">
          <summary>
            <Icon name="chevron-right" size="s" />
            {t('set.agent.can')}
          </summary>
          <ul class="caps">
            <For each={can()}>
              {(one) => (
                <li>
                  <Icon name="check" size="s" />
                  {one.name}
                </li>
              )}
            </For>
          </ul>
          <Show when={cannot().length > 0}>
            <h3>{t('set.agent.cannot')}</h3>
            <ul class="caps none">
              <For each={cannot()}>
                {(one) => (
                  <li>
                    <Icon name="x" size="s" />
                    {one.name}
                  </li>
                )}
              </For>
            </ul>
            <p class="hint">{absenceOf(props.agent)}.</p>
          </Show>
        </details>
      </Show>
      <Show when={props.agent.restarts !== undefined || props.agent.path !== undefined}>
        <Facts agent={props.agent} />
        <Show when={props.agent.restarts !== undefined}>
          <Log load={() => props.log()} />
        </Show>
      </Show>
    </section>
  )
}

function Facts(props: { agent: AgentInfo }) {
  return (
    <dl class="it st facts">
      <dt>{t('set.agent.profile')}</dt>
      <dd>{props.agent.profile}</dd>
      <Show when={props.agent.path}>
        {(path) => (
          <>
            <dt>{t('set.agent.path')}</dt>
            <dd class="code" dir="ltr">
              {path()}
            </dd>
          </>
        )}
      </Show>
      <Show when={props.agent.pid !== undefined && props.agent.started_at !== undefined}>
        <dt>{t('set.agent.process')}</dt>
        <dd>{t('set.agent.process.value', { pid: String(props.agent.pid), time: clock(props.agent.started_at! * 1000, now.minute()()) })}</dd>
      </Show>
      <Show when={props.agent.restarts}>
        {(n) => (
          <>
            <dt>{t('set.agent.restarts')}</dt>
            <dd>{t('set.agent.restarts.value', { n: n() })}</dd>
          </>
        )}
      </Show>
    </dl>
  )
}

/** A command for a terminal; selected and copied, never run from here. */
function Command(props: { text: string; copy: (text: string) => Promise<boolean> }) {
  const [copied, setCopied] = createSignal(false)
  return (
    <div class="cmd">
      <code class="code" dir="ltr">
        {props.text}
      </code>
      <IconButton icon={copied() ? 'check' : 'copy'} name={copied() ? t('shell.copied') : t('shell.copy')} small onPress={() => void props.copy(props.text).then(setCopied)} />
    </div>
  )
}

/** What its program wrote last; read when it is opened. */
function Log(props: { load: () => Promise<string> }) {
  const [text, setText] = createSignal<string | null>(null)
  const [failed, setFailed] = createSignal<string | null>(null)
  let box: HTMLPreElement | undefined
  const read = async () => {
    setFailed(null)
    try {
      setText(await props.load())
      queueMicrotask(() => box?.scrollTo({ top: box.scrollHeight }))
    } catch (error) {
      setFailed(reasonOf(error))
    }
  }
  return (
    <details
      class="it st"
      onToggle={(toggle) => {
        if (toggle.currentTarget.open) void read()
      }}
    >
      <summary>
        <Icon name="chevron-right" size="s" />
        {t('set.agent.log')}
      </summary>
      <Show when={failed()}>{(reason) => <p class="hint bad">{t('set.agent.log.failed', { reason: reason() })}</p>}</Show>
      <Show when={text() !== null}>
        <Show when={text()} fallback={<p class="hint">{t('set.agent.log.empty')}</p>}>
          <pre ref={box} class="code log" tabindex="0" dir="ltr" aria-label={t('set.agent.log')}>
            {text()}
          </pre>
        </Show>
      </Show>
    </details>
  )
}
