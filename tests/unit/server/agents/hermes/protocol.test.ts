import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../../../../server/agents/hermes/protocol/events'
import { METHODS } from '../../../../../server/agents/hermes/protocol/methods'
import type { Method } from '../../../../../server/agents/hermes/protocol/methods'
import { hermesMessage, messagesAnswer, textOf } from '../../../../../server/agents/hermes/protocol/rest'
import { recording, recordings } from '../../../../support/recordings'

const event = (type: string, payload?: unknown) => parseEvent({ jsonrpc: '2.0', method: 'event', params: { type, session_id: 's', ...(payload === undefined ? {} : { payload }) } })

/** Kinds that the page has no use for, in the recordings. */
const UNUSED = new Set(['gateway.ready', 'reasoning.available', 'reaction', 'background.complete', 'agent.terminal.output'])

describe('events of Hermes', () => {
  it('understands every event of every recording that it has a use for', () => {
    const missed: string[] = []
    let known = 0
    for (const number of recordings()) {
      for (const { from, frame } of recording(number)) {
        const { params } = frame as { params?: { type?: string } }
        const heard = from === 'program' ? parseEvent(frame) : null
        if (heard?.event) known++
        else if (heard && !UNUSED.has(params?.type ?? '')) missed.push(`${number} ${params?.type}`)
      }
    }
    expect(missed).toEqual([])
    expect(known).toBeGreaterThan(400)
  })

  it('takes a message.start that has no payload, and ignores members that it does not know', () => {
    expect(event('message.start')?.event).toEqual({ type: 'message.start', payload: {} })
    expect(event('message.delta', { text: 'a', rendered: 'b' })?.event).toEqual({ type: 'message.delta', payload: { text: 'a' } })
  })

  it('knows of a kind that it has never heard of only that it came', () => {
    expect(event('pet.hatch.progress', { text: 'a' })).toEqual({ session: 's', event: null })
    expect(event('toString', {})).toEqual({ session: 's', event: null })
  })

  it('leaves out a member of a wrong type where it can do without, and the event where it cannot', () => {
    expect(event('tool.start', { tool_id: 't', name: 'n', args_text: 5 })?.event).toEqual({ type: 'tool.start', payload: { tool_id: 't', name: 'n' } })
    expect(event('tool.start', { tool_id: 7, name: 'n' })?.event).toBeNull()
    expect(event('approval.request', { command: 'rm', choices: ['once', 4, 'deny'] })?.event).toMatchObject({ payload: { choices: ['once', 'deny'] } })
  })

  it('is no event: an answer, a number, null', () => {
    expect(parseEvent({ jsonrpc: '2.0', id: 'r1', result: {} })).toBeNull()
    expect(parseEvent(4)).toBeNull()
    expect(parseEvent(null)).toBeNull()
  })
})

describe('methods of Hermes', () => {
  it('reads the answer of every call of ours in the recordings', () => {
    let read = 0
    for (const number of recordings()) {
      const asked = new Map<string, Method>()
      for (const { from, client, frame } of recording(number)) {
        const { id, method, result } = frame as { id?: string; method?: string; result?: unknown }
        if (from === 'us' && method !== undefined && Object.hasOwn(METHODS, method)) asked.set(client + id, method as Method)
        const found = from === 'program' && result !== undefined ? asked.get(client + id) : undefined
        if (found === undefined || number === '17') continue
        expect(METHODS[found].result.safeParse(result).error, `${number} ${found}`).toBeUndefined()
        read++
      }
    }
    expect(read).toBeGreaterThan(100)
  })

  it('has no method that gives a shell, keys or somebody else’s processes', () => {
    for (const name of Object.keys(METHODS)) expect(name).not.toMatch(/exec|save_key|process\.|delete|oneshot|background|personality/)
    expect(METHODS['config.get'].params.safeParse({ key: 'full' }).success).toBe(false)
  })

  it('refuses parameters of a wrong type or name before they are sent: over stdio they kill the program (recording 17)', () => {
    const bad: [Method, unknown][] = [
      ['session.create', { cols: 'abc' }], ['session.title', { session_id: 's', title: 5 }], ['session.steer', { session_id: 's', text: 5 }], ['clarify.respond', { request_id: {}, answer: 'a' }],
      ['prompt.submit', { session_id: 's', text: 't', truncate_before_user_ordinal: -1 }], ['prompt.submit', { session_id: 's', text: 't', more: 1 }], ['session.resume', {}],
    ]
    for (const [method, params] of bad) expect(METHODS[method].params.safeParse(params).success, method).toBe(false)
  })

  it('sends no choice that Hermes would take for a yes (recording 04)', () => {
    for (const choice of ['bogus', 'Deny', '', 'allow', 'yes']) expect(METHODS['approval.respond'].params.safeParse({ session_id: 's', choice }).success).toBe(false)
    for (const choice of ['once', 'session', 'always', 'deny']) expect(METHODS['approval.respond'].params.safeParse({ session_id: 's', choice }).success).toBe(true)
    expect(METHODS['approval.respond'].params.safeParse({ session_id: 's', choice: 'deny', all: true }).success).toBe(false)
  })
})

describe('stored rows of Hermes', () => {
  it('reads text and parts, and leaves out a row that has no id', () => {
    const answer = messagesAnswer.parse({ session_id: 'x', messages: [{ id: 1, role: 'user', content: 'a' }, { role: 'user' }, { id: 2, role: 'assistant', content: [{ type: 'text', text: 'b' }, { type: 'image' }] }] })
    expect(answer.messages?.map(textOf)).toEqual(['a', 'b'])
    expect(textOf(hermesMessage.parse({ id: 3, role: 'assistant', content: null }))).toBe('')
  })
})
