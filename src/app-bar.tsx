import { createEffect, createSignal, on, Show, type JSX } from 'solid-js'
import { t } from '../i18n'
import { RenameForm } from './sessions/rename'
import { AgentLink, type AgentLine } from './shell/agent-line'
import { Icon } from './ui/icon'
import { IconButton } from './ui/icon-button'
import { Menu } from './ui/late-menu'

export interface BarProps {
  title: string
  /** Null where there is nothing to rename or to delete. */
  session: string | null
  workspace: string | null
  phone: boolean
  /** There is a list to go back to. */
  back: boolean
  /** How many other chats need the person. */
  needs: number
  /** Who answers here; null while nobody knows. */
  agent: AgentLine | null
  /** Under the title on phones. */
  second: JSX.Element
  /** This chat allows everything without asking. */
  allows: boolean
  online: boolean
  onAllowAll: () => void
  onAskAgain: () => void
  onRename: (session: string, title: string) => void
  onDelete: (session: string) => void
}

/** The bar over a chat: the way back, its title, which a press renames, and what else can be done with it. */
export function ChatBar(props: BarProps) {
  const [menu, setMenu] = createSignal(false)
  const [renaming, setRenaming] = createSignal(false)
  let more!: HTMLButtonElement
  let name: HTMLButtonElement | undefined
  let pressed = false
  // The chip goes once it has been answered: who pressed it goes on beside it.
  createEffect(
    on(
      () => props.allows,
      (allows) => {
        if (!allows && pressed && document.activeElement === document.body) more.focus()
        pressed = false
      },
    ),
  )
  const askAgain = () => {
    pressed = true
    props.onAskAgain()
  }
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
              <Show when={!props.phone && props.agent}>{(line) => <AgentLink line={line()} />}</Show>
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
      <Show when={props.allows}>
        <button type="button" class="chip allows" aria-label={t('chat.allows.end')} title={t('chat.allows.end')} disabled={!props.online} onClick={askAgain}>
          <Icon name="hand" size="s" />
          <span>{t('chat.allows')}</span>
          <Icon name="x" size="s" />
        </button>
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
                  ...(props.online ? [props.allows ? { label: t('chat.asks'), icon: 'hand' as const, run: () => props.onAskAgain() } : { label: t('chat.allowAll'), icon: 'hand' as const, run: () => props.onAllowAll() }] : []),
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
