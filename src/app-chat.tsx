import { createEffect, createMemo, createSignal, Match, on, onMount, Show, Switch, type Accessor } from 'solid-js'
import { t } from '../i18n'
import { running } from '../i18n/format'
import type { ListEntry } from '../server/contract/listing'
import type { ModelsStatus } from '../server/contract/models'
import type { ModelRef } from '../server/contract/session'
import { ApprovalCard } from './approvals/card'
import type { AppParts } from './app-parts'
import { ProblemError } from './backend/port'
import { Composer, type ComposerHandle } from './composer/composer'
import { RenameForm } from './sessions/rename'
import { Banner } from './shell/banner'
import type { BannerState } from './shell/banner-state'
import { Hollow } from './shell/hollow'
import { Home } from './shell/home'
import { reasonOf } from './shell/reason'
import type { ChatFacts, OpenApproval } from './sync/reactive'
import type { Asked, TranscriptHandle } from './transcript/port'
import { Icon } from './ui/icon'
import { IconButton } from './ui/icon-button'
import { Menu } from './ui/menu'
import { useNotices } from './ui/notices'
import { now } from './ui/now'

export interface ChatPaneProps {
  parts: AppParts
  facts: ChatFacts | null
  /** The entry of the open chat in the list: what is known of it before it is open. */
  entry: ListEntry | undefined
  status: ModelsStatus | undefined
  /** A model can answer new chats, or nobody knows yet. */
  ready: boolean
  unfinished: ListEntry | null
  banner: BannerState
  online: boolean
  phone: boolean
  /** There is a list to go back to. */
  back: boolean
  fingers: boolean
  skew: number
  /** How many other chats need the person. */
  needs: number
  onStarted: (session: string) => void
  onRename: (session: string, title: string) => void
  onDelete: (session: string) => void
  go: (path: string) => void
  onWriting: (writing: boolean) => void
  handle: (handle: ChatHandle) => void
}

/** What keys of the page do in the open chat. */
export interface ChatHandle {
  focusBox: () => void
  question: (by: 1 | -1) => void
  stop: () => void
}

/** One chat: header, transcript, and the dock with permission card and message box. Without a session it is an empty one. */
export function ChatPane(props: ChatPaneProps) {
  const notices = useNotices()
  const [picked, setPicked] = createSignal<ModelRef | null>(null)
  const [asked, setAsked] = createSignal<Asked | null>(null)
  let box: ComposerHandle | undefined
  let view: TranscriptHandle | undefined
  /** An empty chat whose first message was refused: the next attempt goes into it. */
  let made: string | null = null

  const session = () => props.facts?.chat.session ?? null
  const head = () => props.facts?.head() ?? null
  const state = () => props.facts?.state() ?? 'ready'
  const live = () => {
    const run = props.facts?.run()
    return run && run.state !== 'settled' ? run : null
  }
  const model = (): ModelRef | null => (session() ? (head()?.model ?? props.facts?.run()?.model ?? props.entry?.model ?? null) : picked()) ?? props.status?.default ?? null
  const scripted = () => (head()?.agent ? head()!.agent!.kind === 'scripted' : model()?.provider === 'scripted')
  const empty = () => !session() || (state() === 'ready' && props.facts!.empty())
  const readable = () => state() === 'ready' || state() === 'loading'
  // A question is never shown from a copy alone; one that was live stays in sight, without its answers, while the connection is gone.
  const confirmed = createMemo<{ chat: string | null; live: boolean }>((before) => ({ chat: session(), live: (before.chat === session() && before.live) || props.facts?.freshness() === 'live' }), { chat: null, live: false })
  const asks = (): OpenApproval[] => (confirmed().live ? (props.facts?.approvals() ?? []) : [])
  const [folded, setFolded] = createSignal(false)
  const [writing, setWriting] = createSignal(false)

  createEffect(on(session, () => setAsked(null), { defer: true }))

  const send = async (text: string, key: string) => {
    let id = session() ?? made
    if (!id) {
      const chosen = picked()
      const answer = await props.parts.backend.call('POST /api/session/new', { key, ...(chosen ? { model: chosen.id, model_provider: chosen.provider } : {}) })
      id = made = answer.session.session_id
    }
    await props.parts.backend.call('POST /api/chat/start', { session_id: id, message: text, key })
    if (!session()) {
      made = null
      setPicked(null)
      props.onStarted(id)
    }
  }
  const stop = async () => {
    const run = live()
    if (!run) return
    try {
      const answer = await props.parts.backend.call('GET /api/chat/cancel', { stream_id: run.id })
      if (!answer.cancelled) notices.toast({ kind: 'plain', text: t('composer.stop.none') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('composer.stop.failed', { reason: reasonOf(error) }) })
      throw error
    }
  }
  const chooseModel = async (chosen: ModelRef) => {
    const id = session()
    if (!id) {
      setPicked(chosen)
      return
    }
    try {
      await props.parts.backend.call('POST /api/session/update', { session_id: id, model: chosen.id, model_provider: chosen.provider })
      if (live()) notices.toast({ kind: 'plain', text: t('composer.model.kept') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('composer.model.notChanged', { reason: reasonOf(error) }) })
    }
  }
  const decide = async (request: OpenApproval, kind: 'once' | 'deny') => {
    const id = session()
    if (!id) return
    const answer = await props.parts.backend.call('POST /api/approval/respond', { session_id: id, approval_id: request.id, choice: kind })
    if (answer.stale_cleared) throw new ProblemError(409, { error: t('ask.gone'), code: 'question_gone' })
    if (!props.fingers) box?.focus()
  }
  // Who was at a card that went away goes on in the box.
  const gone = () => {
    if (!props.fingers && document.activeElement === document.body) box?.focus()
  }
  onMount(() =>
    props.handle({
      focusBox: () => box?.focus(),
      question: (by) => view?.step(by),
      stop: () => void stop().catch(() => undefined),
    }),
  )

  return (
    <>
      <ChatBar
        parts={props.parts}
        title={!session() ? t('list.new') : state() === 'absent' ? t('shell.chats') : head()?.title || props.entry?.title || (state() === 'loading' ? t('session.loading') : t('list.untitled'))}
        session={state() === 'absent' ? null : session()}
        workspace={head()?.workspace ?? props.entry?.workspace ?? null}
        phone={props.phone}
        back={props.back}
        needs={props.needs}
        second={<SecondLine run={live()} waits={asks().length > 0} asked={asked()} skew={props.skew} />}
        onRename={props.onRename}
        onDelete={props.onDelete}
      />
      <Banner state={props.banner} savedAt={props.facts?.savedAt() ?? null} onRetry={() => props.parts.sync.retryNow()} />
      <Switch>
        <Match when={state() === 'absent'}>
          <Hollow icon="archive" title={t('session.absent.title')} text={t('session.absent.text')}>
            <a class="b out" href="/">
              {t('shell.notFound.go')}
            </a>
          </Hollow>
        </Match>
        <Match when={state() === 'not_here'}>
          <Hollow icon="cloud-off" title={t('session.notHere.title')} text={t('session.notHere.text')}>
            <button type="button" class="b out" onClick={() => props.parts.sync.retryNow()}>
              {t('net.offline.retry')}
            </button>
          </Hollow>
        </Match>
        <Match when={state() === 'other_profile'}>
          <Hollow icon="lock" title={t('session.otherProfile.title')} text={t('session.otherProfile.text')} />
        </Match>
        <Match when={session() && state() === 'loading'}>
          <TranscriptSkeleton />
        </Match>
        <Match when={empty()}>
          <div class="scroll">
            <Home
              workspace={head()?.workspace ?? null}
              unfinished={props.unfinished}
              about={aboutModel(props.status, scripted(), model())}
              onPick={(text) => box?.put(text)}
              onOpen={(id) => props.go(`/session/${id}`)}
            />
          </div>
        </Match>
        <Match when={props.facts?.chat} keyed>
          {(chat) => (
            <props.parts.Transcript
              chat={chat}
              online={props.online}
              now={() => Date.now() + props.skew}
              announce={(words, urgency) => (urgency === 'assertive' ? notices.alarm(words) : notices.announce(words))}
              ready={(handle) => (view = handle)}
              onAsked={setAsked}
              actions={{
                retry: async (turn) => {
                  await props.parts.backend.call('POST /api/chat/start', { session_id: chat.session, retry: turn, key: props.parts.mintKey() })
                },
                chooseModel: () => box?.openModels(),
                copy: (text) => props.parts.device.copy(text),
              }}
            />
          )}
        </Match>
      </Switch>
      <Show when={readable()}>
        <div class="dock">
          {/* One card for each chat: leaving a chat takes nothing back of what it asks. */}
          <Show when={props.facts?.chat} keyed>
            {(_chat) => <ApprovalCard requests={asks()} online={props.online} phone={props.phone} quiet={props.phone && writing()} decide={decide} announce={notices.announce} onFold={setFolded} onGone={gone} now={Date.now} />}
          </Show>
          <Show when={!(props.phone && asks().length > 0 && !folded() && !writing())}>
            <Composer
              chat={session() ?? 'new'}
              placeholder={scripted() ? t('composer.placeholder', { agent: t('composer.scripted') }) : t('composer.placeholder.plain')}
              workspace={head()?.workspace ?? props.entry?.workspace ?? null}
              model={model()}
              scripted={scripted()}
              run={boxRun()}
              online={props.online}
              ready={session() ? model() !== null || props.ready : props.ready}
              phone={props.phone}
              fingers={props.fingers}
              skew={props.skew}
              drafts={props.parts.drafts}
              send={send}
              stop={stop}
              models={() => props.parts.backend.call('GET /api/models', {})}
              onModel={(chosen) => void chooseModel(chosen)}
              onManage={() => props.go('/settings/connection')}
              onSent={() => view?.toEnd()}
              announce={notices.announce}
              onFailedElsewhere={(text) => notices.toast({ kind: 'bad', text })}
              onWriting={(now) => {
                setWriting(now)
                props.onWriting(now)
              }}
              handle={(handle) => (box = handle)}
            />
          </Show>
        </div>
      </Show>
    </>
  )

  function boxRun() {
    const run = live()
    return run ? { stopping: run.state === 'stopping', since: run.startedAt, waits: asks().length > 0 } : null
  }
}

function aboutModel(status: ModelsStatus | undefined, scripted: boolean, model: ModelRef | null) {
  if (scripted) return { kind: 'scripted' as const }
  if (status && !status.completed && !model) return { kind: 'none' as const }
  if (status?.default_source === 'hermes' && status.default) return { kind: 'hermes' as const, model: status.default.id }
  return null
}

interface BarProps {
  parts: AppParts
  title: string
  session: string | null
  workspace: string | null
  phone: boolean
  back: boolean
  needs: number
  second: ReturnType<typeof SecondLine>
  onRename: (session: string, title: string) => void
  onDelete: (session: string) => void
}

function ChatBar(props: BarProps) {
  const [menu, setMenu] = createSignal(false)
  const [renaming, setRenaming] = createSignal(false)
  let more!: HTMLButtonElement
  let name: HTMLButtonElement | undefined
  return (
    <header class="bar">
      <Show when={props.phone && props.back}>
        <a class="back" href="/" aria-label={props.needs ? t('shell.back.needs', { n: props.needs }) : t('shell.chats')}>
          <Icon name="chevron-left" class="flip" />
          <Show when={props.needs > 0}>
            <span class="cnt">{props.needs}</span>
          </Show>
        </a>
      </Show>
      <Show
        when={renaming() && props.session}
        keyed
        fallback={
          <div class="t">
            <div class="row">
              <h1 class="cut" dir="auto" tabindex="-1" id="page-title">
                <Show when={props.session} fallback={props.title}>
                  <button ref={name} type="button" class="title cut" onClick={() => setRenaming(true)} title={t('list.rename')}>
                    {props.title}
                  </button>
                </Show>
              </h1>
              <Show when={props.workspace && !props.phone}>
                <span class="meta cut where" title={props.workspace ?? ''}>
                  {props.workspace}
                </span>
              </Show>
            </div>
            <Show when={props.phone}>{props.second}</Show>
          </div>
        }
      >
        {(session) => (
          <div class="t">
            <RenameForm
              title={props.title}
              label={t('list.rename.label')}
              onDone={(title, left) => {
                setRenaming(false)
                if (title !== null) props.onRename(session, title)
                if (!left) queueMicrotask(() => name?.focus())
              }}
            />
          </div>
        )}
      </Show>
      <Show when={props.session} keyed>
        {(session) => (
          <>
            <IconButton ref={(element) => (more = element)} icon="ellipsis" small={!props.phone} name={t('shell.more')} popup="menu" expanded={menu()} onPress={() => setMenu(!menu())} />
            <Show when={menu()}>
              <Menu
                anchor={more}
                label={t('shell.more')}
                align="end"
                onClose={() => setMenu(false)}
                items={[
                  { label: t('list.rename'), icon: 'pencil', run: () => setRenaming(true) },
                  { label: t('list.delete'), icon: 'trash', danger: true, line: true, run: () => props.onDelete(session) },
                ]}
              />
            </Show>
          </>
        )}
      </Show>
    </header>
  )
}

/** On phones: what the chat does, or the question whose answer is being read. */
function SecondLine(props: { run: { state: string; startedAt: number } | null; waits: boolean; asked: Asked | null; skew: number }) {
  return (
    <Switch>
      <Match when={props.waits}>
        <small class="need">
          <span class="cut">{t('session.waits')}</span>
        </small>
      </Match>
      <Match when={props.asked}>
        {(asked) => (
          <small>
            <span class="cut" dir="auto">
              {asked().text}
            </span>
          </small>
        )}
      </Match>
      <Match when={props.run}>
        {(run) => (
          <small>
            <Show when={run().state === 'running'} fallback={<span class="cut">{t('session.stopping')}</span>}>
              <Clock since={() => run().startedAt} skew={props.skew} />
            </Show>
          </small>
        )}
      </Match>
    </Switch>
  )
}

function Clock(props: { since: Accessor<number>; skew: number }) {
  const at = now.second()
  return <span class="cut">{t('session.working', { time: running(at() + props.skew - props.since()) })}</span>
}

function TranscriptSkeleton() {
  return (
    <div class="scroll" aria-busy="true" aria-label={t('session.loading')}>
      <div class="sk-log" aria-hidden="true">
        <div class="sk-you">
          <span class="sk" />
        </div>
        <span class="sk" />
        <span class="sk" />
        <span class="sk" />
      </div>
    </div>
  )
}
