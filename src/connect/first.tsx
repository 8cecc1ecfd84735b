import { createSignal, For, Show, type JSX } from 'solid-js'
import { t } from '../../i18n/settings'
import type { HermesModel, LocalServer, ModelsStatus, SetupAnswer } from '../../server/contract/models'
import '../styles/connect.css'
import { reasonOf } from '../shell/reason'
import { Button } from '../ui/button'
import { Icon, Wing } from '../ui/icon'
import { ConnectForm } from './form'
import type { ConnectActions } from './port'

export interface FirstProps {
  status: ModelsStatus
  host: string
  actions: ConnectActions
  onDone: (answer: SetupAnswer | null) => void
  onSkip: () => void
}

/** The first screen: what was found on this machine, one short form, and the scripted agent for a look around. */
export function FirstScreen(props: FirstProps) {
  const [doing, setDoing] = createSignal('')
  const [failed, setFailed] = createSignal('')
  const use = async (provider: string, model: string) => {
    setDoing(provider)
    setFailed('')
    try {
      props.onDone(await props.actions.setup({ provider, model }))
    } catch (error) {
      setFailed(t('connect.failed', { reason: reasonOf(error) }))
    } finally {
      setDoing('')
    }
  }
  const scripted = () => props.status.connections.find((one) => one.source === 'scripted')
  const found = () => props.status.hermes.state === 'ready' || props.status.local.length > 0
  const lead = () =>
    props.status.hermes.state === 'sign_in' ? t('connect.lead.signIn') : found() ? t('connect.lead.found') : t('connect.lead')
  return (
    <div class="ob">
      <aside>
        <Wing />
        <ol aria-label={t('connect.steps')}>
          <li class="now" aria-current="step">
            <span class="n">1</span>
            <span>
              <b>{t('connect.step.connect')}</b>
              <span class="meta">{t('connect.step.connect.text')}</span>
            </span>
          </li>
          <li>
            <span class="n">2</span>
            <span>
              <b>{t('connect.step.ready')}</b>
            </span>
          </li>
        </ol>
        <p class="meta">{t('connect.foot')}</p>
      </aside>
      <main>
        <div class="w">
          <div>
            <p class="meta">{props.host}</p>
            <h1 tabindex="-1" id="page-title">
              {t('connect.title')}
            </h1>
            <p class="lead">{lead()}</p>
          </div>
          <HermesFound model={props.status.hermes} doing={doing()} onUse={use} />
          <For each={props.status.local}>{(server) => <LocalFound server={server} doing={doing()} onUse={use} />}</For>
          <ConnectForm
            status={props.status}
            actions={props.actions}
            titled={found() ? t('connect.form.title') : t('connect.form.title.only')}
            onConnected={(answer) => props.onDone(answer)}
          />
          <Show when={failed()}>
            <p class="hint bad" role="alert">
              <Icon name="circle-alert" size="s" />
              {failed()}
            </p>
          </Show>
          <Show when={scripted()}>
            {(script) => (
              <section class="try" aria-label={t('connect.try.title')}>
                <div class="grow">
                  <b>
                    {t('connect.try.title')} <span class="tag">{t('composer.model.tag')}</span>
                  </b>
                  <p class="meta">{t('connect.try.text')}</p>
                </div>
                <Button large busy={doing() === script().id} disabled={doing() !== ''} onPress={() => void use(script().id, script().model ?? 'scripted')}>
                  {t('connect.try')}
                </Button>
              </section>
            )}
          </Show>
          <div>
            <button type="button" class="b qui skip-now" onClick={() => props.onSkip()}>
              {t('connect.skip')}
            </button>
          </div>
          <Show when={props.status.agent?.kind === 'embedded'}>
            <p class="meta">
              {t('connect.agent')}{' '}
              <a class="lnk" href="/settings/agent">
                {t('connect.agent.how')}
              </a>
            </p>
          </Show>
        </div>
      </main>
    </div>
  )
}

/** The model of the Agent's configuration: usable, or why it is not. Nothing when none is configured. */
function HermesFound(props: { model: HermesModel; doing: string; onUse: (provider: string, model: string) => Promise<void> }) {
  return (
    <Show when={props.model.state !== 'none'}>
      <Show
        when={props.model.state === 'ready'}
        fallback={
          <div class="note">
            <Icon name={props.model.state === 'sign_in' ? 'lock' : 'triangle-alert'} />
            <div>
              <p>
                <b>{t('connect.hermes')}</b>
              </p>
              <p>
                {props.model.state === 'sign_in'
                  ? t('connect.hermes.signIn', { provider: props.model.display_name ?? props.model.connection ?? '' })
                  : `${t('connect.hermes.problem')} ${props.model.hint ?? ''}`}
              </p>
            </div>
          </div>
        }
      >
        <Found
          name={props.model.model ?? ''}
          about={t('connect.hermes')}
          action={
            <Button
              kind="primary"
              large
              busy={props.doing === props.model.connection}
              disabled={props.doing !== ''}
              onPress={() => void props.onUse(props.model.connection ?? '', props.model.model ?? '')}
            >
              {t('connect.hermes.use')}
            </Button>
          }
        >
          <ul class="checks">
            <li>
              <Icon name="check" />
              {props.model.display_name}
            </li>
            <li>
              <Icon name="check" />
              {t('connect.hermes.agent')}
            </li>
          </ul>
        </Found>
      </Show>
    </Show>
  )
}

function LocalFound(props: { server: LocalServer; doing: string; onUse: (provider: string, model: string) => Promise<void> }) {
  const [model, setModel] = createSignal('')
  const chosen = () => model() || props.server.models[0]?.id || ''
  return (
    <Found
      name={t('connect.local', { name: props.server.display_name })}
      about={props.server.base_url}
      code
      action={
        <Show when={props.server.models.length} fallback={<span class="meta">{t('connect.local.noModels')}</span>}>
          <Button kind="primary" large busy={props.doing === props.server.id} disabled={props.doing !== ''} onPress={() => void props.onUse(props.server.id, chosen())}>
            {t('connect.local.use')}
          </Button>
        </Show>
      }
    >
      <Show when={props.server.models.length > 1}>
        <div class="pick">
          <div class="f l">
            <select aria-label={t('connect.local.model')} value={chosen()} onChange={(change) => setModel(change.currentTarget.value)}>
              <For each={props.server.models}>{(one) => <option value={one.id}>{one.label || one.id}</option>}</For>
            </select>
          </div>
        </div>
      </Show>
      <ul class="checks">
        <li>
          <Icon name="check" />
          {t('connect.check.answers')}
          <span class="meta">{t('connect.local.models', { n: props.server.models.length })}</span>
        </li>
        <li>
          <Icon name="check" />
          {t('connect.check.noKey')}
        </li>
      </ul>
    </Found>
  )
}

function Found(props: { name: string; about: string; code?: boolean; action: JSX.Element; children: JSX.Element }) {
  return (
    <section class="found" aria-label={props.name}>
      <header>
        <Icon name="cpu" />
        <div class="grow">
          <b>{props.name}</b>
          <span class="meta" classList={{ code: props.code }}>
            {props.about}
          </span>
        </div>
        {props.action}
      </header>
      {props.children}
    </section>
  )
}
