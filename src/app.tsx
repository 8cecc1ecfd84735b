import { createEffect, createMemo, createSignal, ErrorBoundary, lazy, Match, on, Show, Suspense, Switch } from 'solid-js'
import { t } from '../i18n'
import { ChatPane, type ChatHandle } from './app-chat'
import { createEdits } from './app-edits'
import { createLook } from './app-look'
import { KEYS, quickGet, quickSet, type AppParts } from './app-parts'
import { createBadge, createSeen } from './app-seen'
import { Side } from './app-side'
import { createStatus } from './app-status'
import { groupsOf } from './sessions/grouping'
import { nextNeeding } from './sessions/next'
import { unfinishedOf } from './sessions/unfinished'
import { createBanner } from './shell/banner-state'
import { Faulty } from './shell/faulty'
import { createHands } from './shell/hands'
import { Hollow } from './shell/hollow'
import { listenForKeys } from './shell/keys'
import { createOffer } from './shell/offer'
import { createPlace, type SettingsPage } from './shell/place'
import { createRouter } from './shell/route'
import { Skip } from './shell/skip'
import { createSlide } from './shell/slide'
import { createChatList, createConnection, createOpenChat } from './sync/reactive'
import { Busy } from './ui/busy'
import { createMedia } from './ui/media'
import { makeNotices, NoticesProvider, NoticesView } from './ui/notices'
import { onDemand } from './ui/on-demand'

const FirstScreen = lazy(() => import('./connect/first').then((module) => ({ default: module.FirstScreen })))
const DeleteDialog = onDemand(() => import('./sessions/delete').then((module) => module.DeleteDialog))
const SettingsPane = lazy(() => import('./app-settings'))

/** The page: where one is, what is open, and the frame for phone, tablet and desktop. Surfaces meet here and nowhere else. */
export function App(props: { parts: AppParts }) {
  // The parts are given once, for the life of the page.
  // eslint-disable-next-line solid/reactivity
  const parts = props.parts
  const notices = makeNotices(parts.later)
  const router = createRouter(window)
  const connection = createConnection(parts.sync)
  const list = createChatList(parts.sync)
  const banner = createBanner(connection, parts.later)
  const phone = createMedia('(max-width: 640px)')
  const tablet = createMedia('(min-width: 641px) and (max-width: 1023px)')
  const fingers = createMedia('(pointer: coarse)')
  const [folded, setFolded] = createSignal(quickGet(parts.quick, KEYS.folded) === '1')
  const [listOpen, setListOpen] = createSignal(false)
  const [skipped, setSkipped] = createSignal(false)
  const [writing, setWriting] = createSignal(false)
  let chat: ChatHandle | undefined
  let frame: HTMLDivElement | undefined

  const none = () => list().state === 'ready' && list().entries.size === 0
  const { session, settings, screen, fresh } = createPlace(router.route, phone, none)
  // An accessor is handed on, not read.
  // eslint-disable-next-line solid/reactivity
  const facts = createOpenChat(parts.sync, session)
  const rail = () => !phone() && (tablet() || folded())
  const online = () => banner().show !== 'lost'
  const offline = () => !online()
  const skew = () => parts.skew?.() ?? 0
  const entry = () => {
    const id = session()
    return id ? list().entries.get(id) : undefined
  }
  const needs = createMemo(() => offline() ? 0 : [...list().entries.values()].filter((one) => one.id !== session() && one.questions > 0).length)
  const unfinished = createMemo(() => unfinishedOf(list().entries.values()))

  const { status, asked, refresh, actions, before } = createStatus(parts, connection, router.route)
  const known = () => status()?.completed ?? (before() || list().entries.size > 0)
  /** A first visit, before it is known whether the first screen is needed: nothing is shown that would be taken back. */
  const looking = () => fresh() && !asked() && !known() && connection().state !== 'offline'
  const first = () => (status()?.completed === false && !skipped() && none() && fresh() ? status() : undefined)

  const attention = createSeen({ parts, list, facts, entry, connected: () => connection().state === 'connected' })
  const looks = createMemo(() => [...list().entries.values()].filter((one) => !one.archived && attention(one)).length)
  // An accessor is handed on, not read.
  // eslint-disable-next-line solid/reactivity
  createBadge(looks)
  const [look, changeLook] = createLook(parts.quick)
  createEffect(() => {
    const title = session() && facts()?.state() !== 'absent' ? (facts()?.head()?.title ?? entry()?.title) || t('list.untitled') : settings() ? t('set.title') : t('shell.chats')
    document.title = `${needs() > 0 || (facts()?.questions().length ?? 0) > 0 ? '● ' : ''}${title} · ${t('app.name')}`
  })
  createEffect(on(session, () => setListOpen(false), { defer: true }))
  createSlide(listOpen, () => frame)
  // Toasts keep clear of the sidebar, too: its width is the page's.
  const showSide = (width: string | number | null) => document.documentElement.style.setProperty('--side-w', width ? `${width}px` : '')
  showSide(quickGet(parts.quick, KEYS.side))
  createHands({
    later: parts.later,
    frame: () => frame,
    fingers,
    swipes: () => phone() && screen() === 'detail',
    back: () => router.go('/'),
    pulls: () => !phone() && !rail(),
    show: showSide,
    keep: (width) => quickSet(parts.quick, KEYS.side, width === null ? null : String(width)),
  })
  createEffect(
    on(
      () => JSON.stringify(router.route()),
      () => {
        if (!fingers() && !phone() && !settings()) queueMicrotask(() => chat?.focusBox())
      },
    ),
  )
  createOffer(notices, parts.device.update, () => {
    const run = facts()?.run()
    return writing() || (!!run && run.state !== 'settled')
  })

  const { rename, leaving, setLeaving, remove } = createEdits(parts.backend, notices, (id) => {
    if (session() === id) router.go('/', true)
  })
  const order = () => groupsOf(list().entries.values(), { now: Date.now() + skew(), offline: offline(), saved: parts.sync.saved }).flatMap((group) => group.entries.map((one) => one.id))
  const fold = () => {
    if (rail() && tablet()) return setListOpen(!listOpen())
    const next = !folded()
    setFolded(next)
    setListOpen(false)
    quickSet(parts.quick, KEYS.folded, next ? '1' : null)
  }
  listenForKeys(
    window,
    {
      newChat: () => {
        router.go('/new')
        queueMicrotask(() => chat?.focusBox())
      },
      messageBox: () => chat?.focusBox(),
      sidebar: fold,
      settings: () => router.go('/settings'),
      chat: (by) => {
        const ids = order()
        const at = ids.indexOf(session() ?? '')
        const next = ids[at < 0 ? 0 : at + by]
        if (next) router.go(`/session/${next}`)
      },
      nextNeeding: () => {
        const waiting = nextNeeding(order(), session(), (id) => {
          const one = list().entries.get(id)
          return one && !offline() ? attention(one) : null
        })
        if (waiting) router.go(`/session/${waiting}`)
      },
      question: (by) => chat?.question(by),
      leave: () => {
        const open = listOpen()
        setListOpen(false)
        return open
      },
      stop: () => chat?.stop(),
    },
    () => performance.now(),
  )

  return (
    <NoticesProvider notices={notices}>
      <Show when={!first()}>
        <Skip
          text={settings() ? t('shell.skip.content') : t('shell.skip')}
          onSkip={() => {
            if (settings() || !document.getElementById('message')) document.getElementById('main')?.focus()
            else chat?.focusBox()
          }}
        />
      </Show>
      <ErrorBoundary fallback={(error: unknown) => <Faulty error={error} />}>
        <Suspense>
          <Show
            when={first()}
            fallback={
              <div
                ref={frame}
                class="app"
                classList={{ rail: rail(), open: listOpen() }}
                data-screen={screen()}
              >
                <Side
                  host={parts.host}
                  connection={connection()}
                  banner={banner()}
                  phone={phone()}
                  main={phone() && screen() === 'list'}
                  rail={rail()}
                  settings={settings()}
                  needs={needs() + (online() && entry()?.questions ? 1 : 0)}
                  list={list()}
                  current={session()}
                  offline={offline()}
                  skew={skew()}
                  saved={(id) => parts.sync.saved(id)}
                  attention={attention}
                  onRename={(one, title) => void rename(one.id, title)}
                  onDelete={setLeaving}
                  onUnavailable={(one) => notices.toast({ kind: 'plain', icon: 'cloud-off', text: t('list.notHere.why', { title: one.title }) })}
                  onRetry={() => parts.sync.retryNow()}
                  onFold={fold}
                  onChats={() => setListOpen(!listOpen())}
                />
                <Show when={listOpen() && rail()}>
                  <div class="veil" onClick={() => setListOpen(false)} />
                </Show>
                <main class="pane" id="main" tabindex="-1">
                  <ErrorBoundary fallback={(error: unknown, again) => <Faulty error={error} at={() => router.route()} again={again} />}>
                    <Switch
                      fallback={
                        <ChatPane
                          parts={parts}
                          facts={facts()}
                          entry={entry()}
                          status={status()}
                          ready={known()}
                          unfinished={unfinished()}
                          banner={banner()}
                          online={online()}
                          phone={phone()}
                          back={screen() !== 'empty'}
                          fingers={fingers()}
                          skew={skew()}
                          needs={needs()}
                          onStarted={(id) => router.go(`/session/${id}`, router.route().name === 'new')}
                          onRename={(id, title) => void rename(id, title)}
                          onDelete={(id) => setLeaving(list().entries.get(id) ?? null)}
                          go={router.go}
                          onWriting={setWriting}
                          handle={(handle) => (chat = handle)}
                        />
                      }
                    >
                      <Match when={looking()}>
                        <p class="hollow looking" role="status">
                          <Busy />
                          {t('home.looking')}
                        </p>
                      </Match>
                      <Match when={router.route().name === 'missing'}>
                        <Hollow icon="search" title={t('shell.notFound.title')} text={t('shell.notFound.text')}>
                          <a class="b out" href="/">
                            {t('shell.notFound.go')}
                          </a>
                        </Hollow>
                      </Match>
                      <Match when={settings() !== 'list' && settings()}>
                        {(page) => (
                        <SettingsPane
                          parts={parts}
                          page={page() as SettingsPage}
                          status={status()}
                          refresh={refresh}
                          actions={actions}
                          look={look()}
                          onLook={changeLook}
                          online={online()}
                          banner={banner()}
                          phone={phone()}
                          moved={router.moved()}
                          tabs={rail()}
                        />
                        )}
                      </Match>
                    </Switch>
                  </ErrorBoundary>
                </main>
              </div>
            }
          >
            {(found) => (
              <FirstScreen
                status={found()}
                host={parts.host}
                actions={actions}
                onSkip={() => setSkipped(true)}
                onDone={() => {
                  void refresh().then(() => {
                    router.go('/new', true)
                    queueMicrotask(() => chat?.focusBox())
                  })
                }}
              />
            )}
          </Show>
        </Suspense>
        <Show when={leaving()} keyed>
          {(one) => <DeleteDialog entry={one} onCancel={() => setLeaving(null)} onDelete={() => void remove(one.id)} />}
        </Show>
      </ErrorBoundary>
      <NoticesView notices={notices} closeLabel={t('shell.close')} />
    </NoticesProvider>
  )
}
