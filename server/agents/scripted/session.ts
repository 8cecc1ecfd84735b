import type { AgentSession, Delivery, Opening, Sink, Timers, TurnEnd, TurnInput } from '../port'
import { demo } from './demo'
import type { Echo } from './echo'
import type { Folder } from './folder'
import type { Memory } from './memory'
import { Pace } from './pace'
import { Player } from './play'
import { parseScript } from './script'
import type { Step } from './step'

export interface ScriptedSessionParts {
  timers: Timers
  /** Factor of every pause: 1 for people, 0 for tests. */
  scale: number
  folder: Folder
  echo: Echo
  memory: Memory
  /** Its reasoning may repeat its text. */
  echoes?: boolean
  closed: () => void
}

/** One chat with the scripted agent: one turn at a time, submitted or its own. */
export function scriptedSession(parts: ScriptedSessionParts, opening: Pick<Opening, 'session' | 'cwd'>, sink: Sink): AgentSession {
  let current: { player: Player; pace: Pace } | null = null
  let last: Promise<unknown> = Promise.resolve()
  let closed = false
  const cancels = new Set<() => void>()

  /** After whatever plays. */
  const play = (text: string, before?: () => void, files: TurnInput['attachments'] = []): Promise<TurnEnd> => {
    const mine = last.then(async () => {
      const pace = new Pace(parts.timers, parts.scale)
      const player = new Player({ sink, pace, cwd: opening.cwd, session: opening.session, memory: parts.memory, later })
      if (closed) pace.stop()
      current = { player, pace }
      try {
        before?.()
        const steps = parseScript(text)
        const got = gotWords(files)
        if (steps) return await player.play([...got, ...steps])
        if (got.length > 0) await player.play(got)
        return await player.perform(() => demo(player, pace, { text, cwd: opening.cwd, folder: parts.folder, echo: parts.echo }))
      } finally {
        current = null
      }
    })
    last = mine.catch(() => undefined)
    return mine
  }
  const later = (ms: number, text: string, script: string): void => {
    const cancel = parts.timers.after(ms, () => {
      cancels.delete(cancel)
      if (closed) return
      const ended = play(script === '' ? '[[nothing]]' : script, () => void sink({ type: 'turn.began', text, source: 'agent' }))
      void ended.catch((error: unknown): TurnEnd => ({ outcome: 'failed', problem: { code: 'agent_died', words: String(error) } })).then((end) => sink({ type: 'turn.ended', end }))
    })
    cancels.add(cancel)
  }
  const gone: Delivery = { state: 'refused', code: 'not_running' }
  return {
    ...(parts.echoes ? { echoes: true } : {}),
    turn: (input: TurnInput) => play(input.text, undefined, input.attachments),
    decide: async (question, choice) => current?.player.decide(question, choice) ?? gone,
    answer: async (question, text) => current?.player.asked.give(question, { kind: 'text', text }) ?? gone,
    give: async (question, value) => current?.player.asked.give(question, { kind: 'secret', value }) ?? gone,
    steer: async (steer, text) => (current && !current.pace.stopped ? current.player.inbox.put(steer, text) : gone),
    stop: async () => current?.pace.stop(),
    close: async () => {
      closed = true
      for (const cancel of cancels) cancel()
      current?.pace.stop()
      parts.closed()
    },
  }
}

/** It cannot look into files, and says which it was given. */
function gotWords(files: NonNullable<TurnInput['attachments']>): Step[] {
  if (files.length === 0) return []
  return [{ do: 'say', text: `I was given ${files.map(({ name, mime, size }) => `${name} (${mime}, ${size} bytes)`).join(', ')}.` }, { do: 'segment' }]
}
