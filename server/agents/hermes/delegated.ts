import type { AgentEvent } from '../port'
import type { HermesEvent, Payload } from './protocol/events'
import { plain } from './tools'

type Named = Extract<HermesEvent, { type: `subagent.${string}` }>
type Complete = Payload<'tool.complete'>
type Closed = Extract<AgentEvent, { type: 'tool.closed' }>

/** Last characters of what a sub-agent does that its step shows. */
const TAIL = 4_000

interface Open { call: string; goals: string[]; end: Closed | null }

/**
 * Sub-agents as steps under the call that sent them out. Hermes ends that call at once, before the first of them begins (recording 15); it stays open here
 * until all have ended or the turn has, so that they have a place. Pure.
 */
export class Delegated {
  #calls: Open[] = []
  /** Sub-agents that work, with what they have done so far, and the call each belongs to. */
  #agents = new Map<string, { call: string; log: string }>()

  /** A call of `delegate_task` begins. */
  began(call: string): void {
    this.#calls.push({ call, goals: [], end: null })
  }

  /** Its end: null while it is put off. */
  ended(call: string, payload: Complete, end: Closed): Closed | null {
    const open = this.#calls.find((each) => each.call === call)
    if (!open) return end
    if (!isDispatched(payload)) {
      this.#calls = this.#calls.filter((each) => each !== open)
      return end
    }
    open.end = end
    open.goals = goalsIn(payload)
    return null
  }

  hear({ type, payload }: Named): AgentEvent[] {
    const id = payload.subagent_id
    switch (type) {
      case 'subagent.start': {
        if (this.#agents.has(id)) return []
        const call = this.#callOf(payload)
        this.#agents.set(id, { call: call ?? '', log: '' })
        const parent = payload.parent_id !== undefined && this.#agents.has(payload.parent_id) ? payload.parent_id : call
        return [{ type: 'tool.started', call: id, name: 'subagent', verb: 'other', ...(parent === undefined ? {} : { parent }), ...(payload.goal ? { target: payload.goal } : {}) }]
      }
      case 'subagent.tool':
        return this.#did(id, [payload.tool_name, payload.tool_preview].filter(Boolean).join(' '))
      case 'subagent.progress':
        return this.#did(id, payload.text ?? '')
      case 'subagent.thinking':
        // Spinner phrases and words of the child come alike: its words come again in its summary.
        return []
      case 'subagent.complete': {
        const agent = this.#agents.get(id)
        if (!agent) return []
        this.#agents.delete(id)
        const words = payload.summary ?? payload.text
        const state = payload.status === 'completed' ? 'done' : payload.status === 'interrupted' ? 'cancelled' : 'failed'
        return [{ type: 'tool.closed', call: id, state, ...(words ? { result: words } : {}) }, ...this.#closeIfDone(agent.call)]
      }
    }
  }

  /** The turn ends: those that still work go on without it, and what they find comes back in a turn of its own. */
  close(): AgentEvent[] {
    const agents = [...this.#agents.keys()].map((call): AgentEvent => ({ type: 'tool.closed', call, state: 'unknown', result: 'It goes on in the background. What it finds comes back by itself.' }))
    const calls = this.#calls.flatMap(({ end }) => (end ? [end] : []))
    this.#agents.clear()
    this.#calls = []
    return [...agents, ...calls]
  }

  #callOf({ goal, parent_id: parent }: Payload<'subagent.start'>): string | undefined {
    const above = parent === undefined ? undefined : this.#agents.get(parent)?.call
    if (above !== undefined) return above
    const named = this.#calls.find((each) => goal !== undefined && each.goals.includes(goal))
    return (named ?? this.#calls.at(-1))?.call
  }

  #did(id: string, words: string): AgentEvent[] {
    const agent = this.#agents.get(id)
    if (!agent || words.trim() === '') return []
    agent.log = `${agent.log}${plain(words)}\n`.slice(-TAIL)
    return [{ type: 'tool.changed', call: id, change: { output: agent.log } }]
  }

  #closeIfDone(call: string): AgentEvent[] {
    const open = this.#calls.find((each) => each.call === call)
    if (!open?.end || [...this.#agents.values()].some((agent) => agent.call === call)) return []
    this.#calls = this.#calls.filter((each) => each !== open)
    return [open.end]
  }
}

/** It was sent into the background: its sub-agents have not begun yet. */
export function isDispatched({ result }: Complete): boolean {
  return typeof result === 'object' && result !== null && 'status' in result && result.status === 'dispatched'
}

function goalsIn({ result }: Complete): string[] {
  const goals: unknown = typeof result === 'object' && result !== null && 'goals' in result ? result.goals : []
  return Array.isArray(goals) ? goals.filter((goal) => typeof goal === 'string') : []
}
