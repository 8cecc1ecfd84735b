import { createEffect, createMemo, createSignal, Match, on, onMount, Show, Switch } from 'solid-js'
import { t } from '../i18n'
import type { ListEntry } from '../server/contract/listing'
import type { ModelsStatus } from '../server/contract/models'
import type { ModelRef } from '../server/contract/session'
import { makeAnswers } from './app-answers'
import { ChatBar } from './app-bar'
import { Box } from './app-box'
import { createLeft } from './app-left'
import { makeOrders } from './app-orders'
import type { AppParts } from './app-parts'
import type { ComposerHandle } from './composer/port'
import { createHold } from './shell/hold'
import { aboutModel } from './shell/about-model'
import type { AgentLine } from './shell/agent-line'
import { ownModel } from './shell/own-model'
import { Banner } from './shell/banner'
import type { BannerState } from './shell/banner-state'
import { Hollow } from './shell/hollow'
import { Home } from './shell/home'
import { reasonOf } from './shell/reason'
import { SecondLine } from './shell/second-line'
import { TranscriptSkeleton } from './shell/skeleton'
import type { ChatFacts, OpenQuestion } from './sync/reactive'
import type { Asked, TranscriptHandle } from './transcript/port'
import { useNotices } from './ui/notices'
import { onDemand } from './ui/on-demand'

const Asking = onDemand(() => import('./app-questions').then((module) => module.Asking))
const AgentHere = onDemand(() => import('./app-agent').then((module) => module.AgentHere))
const AllowAll = onDemand(() => import('./approvals/allow-all').then((module) => module.AllowAll))

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
  const [pickedEffort, setPickedEffort] = createSignal<string | null>(null)
  const [line, setLine] = createSignal<AgentLine | null>(null)
  const [asked, setAsked] = createSignal<Asked | null>(null)
  let box: ComposerHandle | undefined
  let view: TranscriptHandle | undefined
  /** The change that was sent last: sent again it is the same request. */
  let edited: { said: string; key: string } | undefined

  const session = () => props.facts?.chat.session ?? null
  const head = () => props.facts?.head() ?? null
  const state = () => props.facts?.state() ?? 'ready'
  const live = () => {
    const run = props.facts?.run()
    return run && run.state !== 'settled' ? run : null
  }
  /** A chat that does not exist yet will work in the server's own folder. */
  const workspace = () => head()?.workspace ?? props.entry?.workspace ?? (session() ? null : (props.status?.default_workspace ?? null))
  const model = (): ModelRef | null => (session() ? (head()?.model ?? props.facts?.run()?.model ?? props.entry?.model ?? null) : picked()) ?? ownModel(props.status, agent())
  /** The agent that this chat is bound to. */
  const agent = () => head()?.agent ?? props.entry?.agent ?? null
  const scripted = () => (head()?.agent ? head()!.agent!.kind === 'scripted' : model()?.provider === 'scripted')
  const placeholder = () => {
    if (scripted()) return t('composer.placeholder', { agent: t('composer.scripted') })
    return (agent() ?? props.status?.agent)?.kind === 'hermes' ? t('composer.placeholder', { agent: 'Hermes' }) : t('composer.placeholder.plain')
  }
  const empty = () => !session() || (state() === 'ready' && props.facts!.empty())
  const readable = () => state() === 'ready' || state() === 'loading'
  // A question is never shown from a copy alone; one that was live stays in sight, without its answers, while the connection is gone.
  const confirmed = createMemo<{ chat: string | null; live: boolean }>((before) => ({ chat: session(), live: (before.chat === session() && before.live) || props.facts?.freshness() === 'live' }), { chat: null, live: false })
  const asks = (): OpenQuestion[] => (confirmed().live ? (props.facts?.questions() ?? []) : [])
  // Until the card itself says that it stands open: a card that could not be loaded takes nothing away.
  const [folded, setFolded] = createSignal(true)
  const [allowing, setAllowing] = createSignal(false)
  const [writing, setWriting] = createSignal(false)
  const [held, setHeld] = createHold(session)
  const boxShown = () => !(props.phone && asks().length > 0 && !folded() && !writing())
  // The parts are given once, for the life of the page.
  // eslint-disable-next-line solid/reactivity
  const { waiting, rescue, withdraw } = createLeft({ parts: props.parts, chat: () => (confirmed().live ? session() : null), box: () => (boxShown() ? box : undefined) })
  /** The chat in which something was asked, or an answer left, since it was opened: its card stays, so that it can say what became of it. */
  const asking = createMemo<ChatFacts | null>((before) => (props.facts && (before === props.facts || waiting() === session() || asks().length > 0) ? props.facts : null), null)

  createEffect(on(session, () => setAsked(null), { defer: true }))
  const { send, stop, make, chooseModel, chooseEffort } = makeOrders({
    backend: () => props.parts.backend,
    notices,
    session,
    live,
    picked,
    setPicked,
    pickedEffort,
    setPickedEffort,
    onStarted: (id) => props.onStarted(id),
  })
  const allowAll = async (enabled: boolean) => {
    const id = session()
    if (id) await makeAnswers(props.parts.backend, id).allowAll(enabled)
  }
  const askAgain = () =>
    void allowAll(false).then(
      () => notices.announce(t('chat.asksAgain')),
      (error: unknown) => notices.toast({ kind: 'bad', text: t('chat.asksAgain.failed', { reason: reasonOf(error) }) }),
    )
  // Who was at a card that went away goes on in the box; a secret that is being typed must not.
  const gone = (secret: boolean) => {
    if (props.fingers || document.activeElement !== document.body) return
    if (secret) document.getElementById('page-title')?.focus()
    else box?.focus()
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
        title={!session() ? t('list.new') : state() === 'absent' ? t('shell.chats') : head()?.title || props.entry?.title || (state() === 'loading' ? t('session.loading') : t('list.untitled'))}
        session={state() === 'absent' ? null : session()}
        workspace={workspace()}
        phone={props.phone}
        back={props.back}
        needs={props.needs}
        agent={line()}
        second={<SecondLine agent={line()} run={live()} waits={asks().length > 0} asked={asked()} skew={props.skew} />}
        allows={head()?.approvals === 'all'}
        online={props.online}
        onAllowAll={() => setAllowing(true)}
        onAskAgain={askAgain}
        onRename={props.onRename}
        onDelete={props.onDelete}
      />
      <Show when={props.status && state() !== 'absent'}>
        <AgentHere parts={props.parts} agent={agent()} live={live() !== null} online={props.online} tell={setLine} />
      </Show>
      <Show when={allowing()}>
        <AllowAll allow={() => allowAll(true)} onClose={() => setAllowing(false)} />
      </Show>
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
              workspace={workspace()}
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
                goOn: async (text) => {
                  await props.parts.backend.call('POST /api/chat/start', { session_id: chat.session, message: text, key: props.parts.mintKey() })
                },
                edit: async ({ row, text, files }) => {
                  const said = `${row} ${text}`
                  if (edited?.said !== said) edited = { said, key: props.parts.mintKey() }
                  await props.parts.backend.call('POST /api/chat/start', { session_id: chat.session, message: text, replace_from: row, ...(files.length > 0 ? { attachments: [...files] } : {}), key: edited.key })
                },
                keptEdit: {
                  load: async () => (await props.parts.drafts.load(`edit.${chat.session}`)).text,
                  keep: (change) => props.parts.drafts.note(`edit.${chat.session}`, change),
                },
                chooseModel: () => box?.openModels(),
                openSettings: (about) => props.go(about === 'agent' ? '/settings/agent' : '/settings/connection'),
                newChat: () => props.go('/new'),
                putBack: (text) => rescue(chat.session, text),
                takeBack: (text) => withdraw(chat.session, text),
                copy: (text) => props.parts.device.copy(text),
              }}
            />
          )}
        </Match>
      </Switch>
      <Show when={readable()}>
        <div class="dock">
          {/* One card for each chat: leaving a chat takes nothing back of what it asks. */}
          <Show when={asking()} keyed>
            {(facts) => (
              <Asking
                parts={props.parts}
                facts={facts}
                questions={asks()}
                online={props.online}
                phone={props.phone}
                fingers={props.fingers}
                quiet={props.phone && writing()}
                skew={props.skew}
                rescue={(text) => rescue(facts.chat.session, text)}
                onAllowAll={() => setAllowing(true)}
                onFold={setFolded}
                onSecret={setHeld}
                onGone={gone}
              />
            )}
          </Show>
          <Box
            shown={boxShown()}
            parts={props.parts}
            facts={props.facts}
            questions={asks().length}
            locked={!folded() && asks().some((one) => one.kind === 'clarify')}
            held={held()}
            onEnter={() => setHeld(false)}
            placeholder={placeholder()}
            workspace={workspace()}
            model={model()}
            effort={session() ? (head()?.effort ?? null) : pickedEffort()}
            agent={agent()?.kind}
            scripted={scripted()}
            online={props.online}
            ready={session() ? model() !== null || props.ready : props.ready}
            phone={props.phone}
            fingers={props.fingers}
            skew={props.skew}
            send={send}
            make={() => make(props.parts.mintKey())}
            stop={stop}
            onModel={(chosen) => void chooseModel(chosen)}
            onEffort={(effort) => void chooseEffort(effort)}
            onManage={(of) => props.go(of === 'agent' ? '/settings/agent' : '/settings/connection')}
            onSent={() => view?.toEnd()}
            onWriting={(now) => {
              setWriting(now)
              props.onWriting(now)
            }}
            handle={(handle) => (box = handle)}
          />
        </div>
      </Show>
    </>
  )
}
