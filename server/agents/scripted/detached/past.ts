import type { AgentEvent, Shown } from '../../port'

/** Of a turn, what a server must hear that has shown only a part of it. `message` and `open` as in `Reattached`. */
export interface Missed { message: string | null; open: string[]; events: AgentEvent[] }

type Said = { type: 'text' | 'reasoning'; delta: string }

/**
 * All that a turn has told, with the pieces of one text joined by the rule by which text becomes rows. From what a server has shown of it, it tells exactly
 * what is new; null where that cannot be told. Pure.
 */
export class Past {
  #events: AgentEvent[] = []
  /** The text that goes on; the next one is another row. */
  #open: Said | null = null
  /** Texts were replaced or repeated: rows and events can no longer be told apart. */
  #vague = false

  take(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
      case 'reasoning':
        if (event.delta === '') return
        if (this.#open?.type === event.type) {
          this.#open.delta += event.delta
          return
        }
        this.#open = { ...event }
        this.#events.push(this.#open)
        return
      case 'text.replace':
      case 'message':
        this.#vague = true
        return
      case 'segment':
        this.#open = null
        return
      case 'tool.started':
        this.#open = null
        break
      case 'question.raised':
        if (event.call === undefined) this.#open = null
        return
      case 'clarify.raised':
      case 'secret.raised':
        this.#open = null
        return
      case 'question.withdrawn':
      case 'steer.delivered':
      case 'turn.bound':
        return
    }
    this.#events.push(event)
  }

  missed(shown: readonly Shown[]): Missed | null {
    const place = this.#vague ? null : this.#place(shown)
    if (!place) return null
    const known = new Map(shown.flatMap((row) => (row.kind === 'tool' ? [[row.call, row.live] as const] : [])))
    const running = [...known].flatMap(([call, live]) => (live ? [call] : []))
    const events = this.#events.flatMap((event, i): AgentEvent[] => {
      if (event.type === 'tool.started') return known.has(event.call) ? [] : [event]
      if (event.type === 'tool.closed' || event.type === 'tool.changed') return known.get(event.call) === false ? [] : [event]
      if (i > place.at) return [event.type === 'text' || event.type === 'reasoning' ? { ...event } : event]
      // The rest of a thought; that of an answer is in `message`.
      return i === place.at && event.type === 'reasoning' && place.units < event.delta.length ? [{ type: 'reasoning', delta: event.delta.slice(place.units) }] : []
    })
    const parted = events.flatMap((event): AgentEvent[] => (event.type === 'text' ? [{ type: 'segment' }, event] : [event]))
    return { message: place.message, open: running, events: parted }
  }

  /** The last event that is shown, and how much of it; null when what is shown is not the beginning of what was told. */
  #place(shown: readonly Shown[]): { at: number; units: number; message: string | null } | null {
    let at = -1
    let units = 0
    let message: string | null = null
    const whole = (): boolean => {
      const event = this.#events[at]
      return event === undefined || !isSaid(event) || units === event.delta.length
    }
    for (const row of shown) {
      if (row.kind !== 'tool' && row.text === '') continue
      const now = this.#events[at]
      const type = row.kind === 'answer' ? 'text' : 'reasoning'
      // A text that an earlier restart has parted.
      if (row.kind !== 'tool' && now && isSaid(now) && now.type === type && units < now.delta.length && now.delta.startsWith(row.text, units)) {
        units += row.text.length
        if (row.kind === 'answer') message = now.delta.slice(units - row.text.length)
        continue
      }
      const next = this.#events.findIndex((event, i) => i > at && (isSaid(event) || event.type === 'tool.started'))
      const event = this.#events[next]
      if (!event || !whole()) return null
      if (row.kind === 'tool') {
        if (event.type !== 'tool.started' || event.call !== row.call) return null
      } else {
        if (!isSaid(event) || event.type !== type || !event.delta.startsWith(row.text)) return null
        units = row.text.length
        if (row.kind === 'answer') message = event.delta
      }
      at = next
    }
    return { at, units, message }
  }
}

function isSaid(event: AgentEvent): event is Said {
  return event.type === 'text' || event.type === 'reasoning'
}
