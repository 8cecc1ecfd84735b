import { createEffect, createMemo, createSignal, ErrorBoundary, lazy, Match, on, onCleanup, Show, Suspense, Switch, untrack } from 'solid-js'
import { t } from '../i18n'
import type { ListEntry } from '../server/contract/listing'
import type { ModelsStatus } from '../server/contract/models'
import { ChatPane, type ChatHandle } from './app-chat'
import { KEYS, quickGet, quickSet, type AppParts } from './app-parts'
import { Side } from './app-side'
import type { ConnectActions } from './connect/port'
import { groupsOf } from './sessions/grouping'
import { firstMarks, isUnread, markSeen, parseMarks } from './sessions/read-marks'
import { applyLook, LOOK_KEY, paintBar, parseLook, type Look } from './settings/look'
import { createBanner } from './shell/banner-state'
import { Hollow } from './shell/hollow'
import { listenForKeys } from './shell/keys'
import { reasonOf } from './shell/reason'
import { createRouter } from './shell/route'
import { createChatList, createConnection, createOpenChat } from './sync/reactive'
import { Busy } from './ui/busy'
import { createMedia } from './ui/media'
import { makeNotices, NoticesProvider, NoticesView } from './ui/notices'
import { DeleteDialog } from './sessions/delete'

const FirstScreen = lazy(() => import('./connect/first').then((module) => ({ default: module.FirstScreen })))
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
  const [marks, setMarks] = createSignal(parseMarks(quickGet(parts.quick, KEYS.marks)))
  const [look, setLook] = createSignal<Look>(parseLook(quickGet(parts.quick, LOOK_KEY)))
  const [status, setStatus] = createSignal<ModelsStatus>()
  const [asked, setAsked] = createSignal(false)
  const [skipped, setSkipped] = createSignal(false)
  const [writing, setWriting] = createSignal(false)
  const [leaving, setLeaving] = createSignal<ListEntry | null>(null)
  const [settled, setSettled] = createSignal(false)
  let chat: ChatHandle | undefined
  let frame: HTMLDivElement | undefined

  const session = createMemo(() => {
    const at = router.route()
    return at.name === 'session' ? at.id : null
  })
  // An accessor is handed on, not read.
  // eslint-disable-next-line solid/reactivity
  const facts = createOpenChat(parts.sync, session)
  const settingsAt = createMemo(() => {
    const name = router.route().name
    return name === 'connection' || name === 'appearance' ? name : name === 'settings' ? (phone() ? 'list' : 'connection') : null
  })
  /** Phones show one of list and detail; an empty list gives way to the empty chat. */
  const screen = () => {
    const name = router.route().name
    if (name === 'settings') return 'list'
    if (name !== 'home') return 'detail'
    return list().state === 'ready' && list().entries.size === 0 ? 'empty' : 'list'
  }
  const rail = () => !phone() && (tablet() || folded())
  const online = () => banner().show !== 'lost'
  const offline = () => !online()
  const skew = () => parts.skew?.() ?? 0
  const entry = () => {
    const id = session()
    return id ? list().entries.get(id) : undefined
  }
  const needs = createMemo(() => offline() ? 0 : [...list().entries.values()].filter((one) => one.id !== session() && one.questions > 0).length)
  const unfinished = createMemo(
    () => [...list().entries.values()].filter((one) => one.state === 'idle' && (one.outcome === 'interrupted' || one.outcome === 'cancelled')).sort((a, b) => b.lastAt - a.lastAt)[0] ?? null,
  )

  // What is connected: asked at the start, and again each time the server is back.
  const refresh = async () => {
    try {
      const next = await parts.backend.call('GET /api/onboarding/status', {})
      setStatus(next)
      quickSet(parts.quick, KEYS.connected, next.completed ? '1' : null)
    } catch {
      // Nothing is known without the server; the composer does not pretend otherwise.
    }
    setAsked(true)
  }
  createEffect(
    on(
      () => connection().state === 'connected',
      (connected) => {
        // A chat is shown first: what is connected matters to the next message, not to reading.
        if (!connected) return
        if (router.route().name === 'session') onCleanup(parts.later(600, () => void refresh()))
        else void refresh()
      },
    ),
  )
  const known = () => status()?.completed ?? (quickGet(parts.quick, KEYS.connected) === '1' || list().entries.size > 0)
  const fresh = () => router.route().name === 'home' || router.route().name === 'new'
  /** A first visit, before it is known whether the first screen is needed: nothing is shown that would be taken back. */
  const looking = () => fresh() && !asked() && !known() && connection().state !== 'offline'
  const first = () => (status()?.completed === false && !skipped() && list().state === 'ready' && list().entries.size === 0 && fresh() ? status() : undefined)
  const connect: ConnectActions = {
    status: () => parts.backend.call('GET /api/onboarding/status', {}),
    probe: (input) => parts.backend.call('POST /api/onboarding/probe', input),
    setup: (input) => parts.backend.call('POST /api/onboarding/setup', input),
    remove: async (provider) => {
      await parts.backend.call('POST /api/providers/delete', { provider })
    },
  }

  // Read marks, look, title: small effects at the edge.
  createEffect(() => {
    if (list().state === 'ready') setMarks((now) => firstMarks(now, list().entries.values()))
  })
  const see = () => {
    const open = entry()
    if (open && document.visibilityState === 'visible') setMarks((now) => markSeen(now, open.id, open.lastAt))
  }
  createEffect(see)
  document.addEventListener('visibilitychange', see)
  onCleanup(() => document.removeEventListener('visibilitychange', see))
  createEffect(on(marks, (now) => quickSet(parts.quick, KEYS.marks, now.base < 0 ? null : JSON.stringify(now)), { defer: true }))
  createEffect(
    on(
      look,
      (now, before) => {
        if (before) quickSet(parts.quick, LOOK_KEY, JSON.stringify(now))
        applyLook(now, document.documentElement)
      },
    ),
  )
  const dark = createMedia('(prefers-color-scheme: dark)')
  createEffect(on(dark, () => paintBar(document), { defer: true }))
  createEffect(() => {
    const title = session() && facts()?.state() !== 'absent' ? (facts()?.head()?.title ?? entry()?.title) || t('list.untitled') : settingsAt() ? t('set.title') : t('shell.chats')
    document.title = `${needs() > 0 || (facts()?.approvals().length ?? 0) > 0 ? '● ' : ''}${title} · ${t('app.name')}`
  })
  createEffect(on(session, () => setListOpen(false), { defer: true }))
  // A list that slid over takes the focus, and gives it back to what opened it.
  createEffect(
    on(
      listOpen,
      (open) => {
        const inside = frame?.querySelector('.chats')?.contains(document.activeElement)
        if (open) frame?.querySelector<HTMLElement>('.chats a[tabindex="0"]')?.focus({ preventScroll: true })
        else if (inside) frame?.querySelector<HTMLElement>('.sect a')?.focus({ preventScroll: true })
      },
      { defer: true },
    ),
  )
  // Toasts keep clear of the sidebar, too: its width is the page's.
  const showSide = (width: string | number | null) => document.documentElement.style.setProperty('--side-w', width ? `${width}px` : '')
  showSide(quickGet(parts.quick, KEYS.side))
  // What hands do with the frame is not needed for reading: it comes after the first paint.
  onCleanup(
    parts.later(1500, () => {
      setSettled(true)
      if (!fingers() || !frame) return
      const app = frame
      void import('./shell/swipe').then(({ listenForSwipe }) => listenForSwipe(app, () => phone() && screen() === 'detail', () => router.go('/')), () => undefined)
    }),
  )
  createEffect(() => {
    if (!settled() || phone() || rail()) return
    let remove: (() => void) | undefined
    let gone = false
    onCleanup(() => {
      gone = true
      remove?.()
    })
    void import('./shell/divider').then(
      ({ addDivider }) => {
        const side = frame?.querySelector<HTMLElement>('.side')
        if (!gone && side) remove = addDivider(side, { label: t('shell.sidebar.width'), show: showSide, keep: (width) => quickSet(parts.quick, KEYS.side, width === null ? null : String(width)) })
      },
      () => undefined,
    )
  })
  createEffect(
    on(
      () => JSON.stringify(router.route()),
      () => {
        if (!fingers() && !phone() && !settingsAt()) queueMicrotask(() => chat?.focusBox())
      },
    ),
  )
  createEffect(() => {
    const load = parts.device.update()
    // Never while somebody writes or a turn runs: the offer waits.
    const run = facts()?.run()
    if (!load || writing() || (run && run.state !== 'settled')) return
    onCleanup(untrack(() => notices.toast({ kind: 'plain', icon: 'refresh', stays: true, text: t('net.update.ready'), action: { label: t('net.update.load'), run: load } })))
  })

  const rename = async (id: string, title: string) => {
    try {
      await parts.backend.call('POST /api/session/rename', { session_id: id, title })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('list.rename.failed', { reason: reasonOf(error) }) })
    }
  }
  const remove = async (id: string) => {
    setLeaving(null)
    try {
      await parts.backend.call('POST /api/session/delete', { session_id: id })
      if (session() === id) router.go('/', true)
      notices.toast({ kind: 'plain', icon: 'trash', text: t('list.deleted') })
    } catch (error) {
      notices.toast({ kind: 'bad', text: t('list.delete.failed', { reason: reasonOf(error) }) })
    }
  }
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
        const waiting = order().find((id) => id !== session() && (list().entries.get(id)?.questions ?? 0) > 0)
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
        <a
          class="skip"
          href="#main"
          onClick={(press) => {
            press.preventDefault()
            if (settingsAt() || !document.getElementById('message')) document.getElementById('main')?.focus()
            else chat?.focusBox()
          }}
        >
          {settingsAt() ? t('shell.skip.content') : t('shell.skip')}
        </a>
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
                  settings={settingsAt()}
                  needs={needs() + (online() && entry()?.questions ? 1 : 0)}
                  list={list()}
                  current={session()}
                  offline={offline()}
                  skew={skew()}
                  saved={(id) => parts.sync.saved(id)}
                  unread={(one) => one.id !== session() && isUnread(one, marks())}
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
                      <Match when={settingsAt() === 'connection' || settingsAt() === 'appearance'}>
                        <SettingsPane
                          parts={parts}
                          page={settingsAt() as 'connection' | 'appearance'}
                          status={status()}
                          refresh={refresh}
                          actions={connect}
                          look={look()}
                          onLook={(part) => setLook((before) => ({ ...before, ...part }))}
                          online={online()}
                          banner={banner()}
                          phone={phone()}
                          moved={router.moved()}
                          tabs={rail()}
                        />
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
                actions={connect}
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

/** A fault of ours: said once, with a way on. The console keeps the error for who looks. */
function Faulty(props: { error: unknown; at?: () => unknown; again?: () => void }) {
  createEffect(() => console.error(props.error))
  // What is elsewhere may be whole.
  createEffect(on(() => JSON.stringify(props.at?.()), () => props.again?.(), { defer: true }))
  return (
    <Hollow icon="triangle-alert" title={t('shell.faulty.title')} text={t('shell.faulty.text')}>
      <button type="button" class="b pri" onClick={() => location.reload()}>
        {t('shell.faulty.reload')}
      </button>
    </Hollow>
  )
}
