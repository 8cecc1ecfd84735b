import type { AgentKind } from '../server/contract/session'
import { createEffect, createSignal, Show } from 'solid-js'
import { KEYS, quickGet, quickSet, type AppParts } from './app-parts'
import { Composer } from './composer/composer'
import type { ComposerHandle, ComposerProps } from './composer/port'
import { parseWay } from './composer/way'
import type { ChatFacts } from './sync/reactive'
import { useNotices } from './ui/notices'
import { onDemand } from './ui/on-demand'

const Waiting = onDemand(() => import('./app-queue').then((module) => module.Waiting))

type Given = 'held' | 'onEnter' | 'placeholder' | 'workspace' | 'model' | 'scripted' | 'online' | 'ready' | 'phone' | 'fingers' | 'skew' | 'send' | 'stop' | 'effort' | 'onEffort' | 'onModel' | 'onManage' | 'onSent'

export interface BoxProps extends Pick<ComposerProps, Given> {
  parts: AppParts
  /** The open chat; null while it is an empty one. */
  facts: ChatFacts | null
  /** Makes the chat that does not exist yet. */
  make: () => Promise<string>
  /** The kind of agent that the chat is bound to: its models are offered. */
  agent: AgentKind | undefined
  /** Not while a sheet stands in its place; what waits is shown all the same. */
  shown: boolean
  /** How many questions are open in this chat. */
  questions: number
  /** One of them holds the box. */
  locked: boolean
  onWriting: (writing: boolean) => void
  handle: (handle: ComposerHandle) => void
}

/** The message box of the open chat, with the messages that wait for their turn behind it. */
export function Box(props: BoxProps) {
  const notices = useNotices()
  // The parts are given once, for the life of the page.
  // eslint-disable-next-line solid/reactivity
  const { parts } = props
  const [mode, setMode] = createSignal(parseWay(quickGet(parts.quick, KEYS.way)))
  /** Kinds of agents that take no words while they work. */
  const [deaf, setDeaf] = createSignal<readonly string[]>([])
  let asked = false
  let box: ComposerHandle | undefined
  /** The open chat, once nothing waited in it. */
  let empty: ChatFacts | null = null

  const run = () => {
    const last = props.facts?.run()
    return last && last.state !== 'settled' ? last : null
  }
  // Asked once, when it matters for the first time; until it is known, the server's word on a steer decides.
  createEffect(() => {
    if (asked || !run() || !props.online) return
    asked = true
    parts.backend.call('GET /health', {}).then(
      ({ agents }) => setDeaf(agents.filter((agent) => agent.capabilities.length > 0 && !agent.capabilities.includes('steer')).map((agent) => agent.kind)),
      () => (asked = false),
    )
  })
  createEffect(() => {
    if (props.facts?.state() === 'ready' && props.facts.queue().items.length === 0) empty = props.facts
  })
  const trayFor = async (make: () => Promise<string>) => (await import('./app-files')).trayOf(parts, notices.announce, make)
  const give = (session: string, text: string) => {
    if (session === props.facts?.chat.session && props.shown && box) box.give(text)
    else void parts.drafts.append(session, text)
  }
  return (
    <>
      <Show when={props.facts} keyed>
        {(facts) => (
          <Show when={facts.queue().items.length > 0}>
            <Waiting parts={parts} facts={facts} online={props.online} fresh={empty === facts} give={(text) => give(facts.chat.session, text)} onLeft={() => !props.fingers && box?.focus()} />
          </Show>
        )}
      </Show>
      <Show when={props.shown}>
        <Composer
          chat={props.facts?.chat.session ?? 'new'}
          placeholder={props.placeholder}
          workspace={props.workspace}
          model={props.model}
          effort={props.effort}
          scripted={props.scripted}
          run={boxRun()}
          locked={props.locked}
          held={props.held}
          onEnter={props.onEnter}
          mode={mode()}
          steers={!deaf().includes(run()?.agent.kind ?? '')}
          onMode={(way) => {
            setMode(way)
            quickSet(parts.quick, KEYS.way, way)
          }}
          online={props.online}
          ready={props.ready}
          phone={props.phone}
          fingers={props.fingers}
          skew={props.skew}
          drafts={parts.drafts}
          send={props.send}
          tray={() => trayFor(props.make)}
          stop={props.stop}
          models={() => parts.backend.call('GET /api/models', props.agent ? { agent: props.agent } : {})}
          onModel={props.onModel}
          onEffort={props.onEffort}
          onManage={props.onManage}
          onSent={props.onSent}
          announce={notices.announce}
          onFailedElsewhere={(text) => notices.toast({ kind: 'bad', text })}
          onWriting={props.onWriting}
          handle={(handle) => {
            box = handle
            props.handle(handle)
          }}
        />
      </Show>
    </>
  )

  function boxRun() {
    const last = run()
    return last ? { stopping: last.state === 'stopping', since: last.startedAt, waits: props.questions > 0 } : null
  }
}
