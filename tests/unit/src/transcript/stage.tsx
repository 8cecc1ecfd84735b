import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import { apply } from '../../../../server/contract/fold'
import type { ChatNews, OpenChat } from '../../../../src/sync/port'
import type { Asked, TranscriptHandle } from '../../../../src/transcript/port'
import { TranscriptView } from '../../../../src/transcript/view'
import { Story } from '../../../support/story'

/** A transcript on a page, fed by a story: the fold is the real one, the chat is a value and its listeners. */
export interface Stage {
  story: Story
  root: HTMLElement
  said: string[]
  copied: string[]
  retried: string[]
  edited: { row: string; text: string; files: readonly string[] }[]
  handle: TranscriptHandle
  asked: () => Asked | null
  setOnline: (online: boolean) => void
  /** Moves the server's clock, ms. */
  pass: (ms: number) => void
  /** Sends to the page what the story said since, and lets a frame pass. */
  show: () => Promise<void>
  /** The same without a frame. */
  send: () => void
  /** Tells the page that the value was replaced. */
  replaced: () => Promise<void>
  /** Leaves the chat and opens it anew. */
  again: () => Promise<void>
  leave: () => void
}

let stages = 0

export async function frames(n = 3): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
  await new Promise((resolve) => setTimeout(resolve, 0))
}

export async function stage(write: (story: Story) => void, options: { retry?: (turn: string) => Promise<void>; edit?: (change: { row: string; text: string }) => Promise<void> } = {}): Promise<Stage> {
  // What is opened by hand is remembered by chat.
  const story = new Story(`ses_${++stages}`)
  write(story)
  const value = { ...story.value, turns: new Map(story.value.turns), rows: new Map(story.value.rows), order: [...story.value.order] }
  let at = story.events.length
  const listeners = new Set<(news: ChatNews) => void>()
  const chat: OpenChat = {
    session: story.session,
    state: () => 'ready',
    value: () => value,
    freshness: () => 'live',
    savedAt: () => null,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    older: () => Promise.resolve(false),
    close: () => {},
  }
  const root = document.createElement('div')
  document.body.append(root)
  const [online, setOnline] = createSignal(true)
  const result: Partial<Stage> & Pick<Stage, 'said' | 'copied' | 'retried' | 'edited'> = { said: [], copied: [], retried: [], edited: [] }
  let kept = ''
  let handle!: TranscriptHandle
  let passed = 0
  let asked: Asked | null = null
  const draw = () => render(
    () => (
      <TranscriptView
        chat={chat}
        online={online()}
        announce={(words) => result.said.push(words)}
        now={() => (story.events.length + 1) * 1000 + passed}
        actions={{
          copy: (text) => {
            result.copied.push(text)
            return Promise.resolve(true)
          },
          goOn: (text) => {
            result.said.push(`go on: ${text}`)
            return Promise.resolve()
          },
          edit: async (change) => {
            result.edited.push(change)
            await options.edit?.(change)
          },
          keptEdit: { load: () => Promise.resolve(kept), keep: (change) => (kept = change) },
          chooseModel: () => result.said.push('choose model'),
          openSettings: () => result.said.push('settings'),
          newChat: () => result.said.push('new chat'),
          putBack: (text) => result.said.push(`put back: ${text}`),
          takeBack: (text) => result.said.push(`take back: ${text}`),
          retry: async (turn) => {
            result.retried.push(turn)
            await options.retry?.(turn)
          },
        }}
        ready={(given) => (handle = given)}
        onAsked={(now) => (asked = now)}
      />
    ),
    root,
  )
  let leave = draw()
  const send = () => {
    for (const event of story.events.slice(at)) {
      const applied = apply(value, event)
      if (applied.state !== 'applied') throw new Error(`${event.type}: ${applied.state}`)
      for (const listener of listeners) listener({ type: 'touched', touched: applied.touched })
    }
    at = story.events.length
  }
  await frames()
  return Object.assign(result, {
    story,
    root,
    handle,
    asked: () => asked,
    setOnline,
    pass: (ms: number) => void (passed += ms),
    send,
    show: async () => {
      send()
      await frames()
    },
    replaced: async () => {
      for (const listener of listeners) listener({ type: 'value' })
      await frames()
    },
    again: async () => {
      leave()
      leave = draw()
      await frames()
    },
    leave: () => {
      leave()
      root.remove()
    },
  }) as Stage
}
