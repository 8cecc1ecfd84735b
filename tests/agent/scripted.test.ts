import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { makeScripted } from '../../server/agents/scripted'
import { readRecord } from '../../server/agents/supervise/record'
import { systemProcesses } from '../../server/runs/processes'
import { systemTimers } from '../../server/runs/timers'
import { freshFolder, openTestStore } from '../support/store-thread'
import { conformance } from './conformance'
import { agentRig } from './rig'
import type { Cue, ProblemKind, ToolCue } from './rig'

const message = (cues: Cue[]): string => cues.map(directives).join('')
const told = (words: string, answer: string): boolean => answer.includes(words)
const scripted = () => makeScripted({ timers: systemTimers(), scale: 0.02 })

conformance('the scripted agent', async (options) => ({ ...agentRig(scripted(), 'scripted', options), message, told, leftovers: async () => 0 }))

conformance('the scripted agent on the real store', async (options) => {
  const folder = freshFolder('scripted')
  const rig = agentRig(scripted(), 'scripted', { ...options, folder, store: await openTestStore({ folder: join(folder, 'state') }) })
  return { ...rig, message, told, leftovers: async () => 0 }
})

conformance('the scripted agent in a process of its own', async (options) => {
  const folder = freshFolder('detached')
  const place = join(folder, 'state', 'scripted')
  const agent = makeScripted({
    timers: systemTimers(), scale: 0.02, detached: { folder: place, main: resolve(process.env.TALARIA_DIST ?? 'dist', 'server/main.js'), table: systemProcesses(), scale: 0.02, all: true },
  })
  const rig = agentRig(agent, 'scripted', { ...options, folder })
  return {
    ...rig, message, told, leftovers: async () => 0,
    close: async () => {
      const record = await readRecord(place)
      await rig.close()
      // It served every turn of the suite, and ends with the server when nothing plays.
      expect(record && alive(record.pid)).toBe(false)
    },
  }
})

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A cue as directives of the scripted agent. */
function directives(cue: Cue): string {
  switch (cue.cue) {
    case 'text':
      return cue.deltas.map((delta) => `[[raw:${delta}]]`).join('')
    case 'reasoning':
      return `[[reason:${cue.deltas.join('')}]]`
    case 'bytes':
      return `[[split:${cue.text}]]`
    case 'tools':
      return cue.calls.every((call) => call.tool === 'shell') ? `[[ask:${JSON.stringify(cue.calls.map(asking))}]]` : parallel(cue.calls)
    case 'clarify':
      return `[[clarify:${JSON.stringify({ question: cue.question, choices: cue.choices, ...(cue.ms === undefined ? {} : { ms: cue.ms }) })}]]`
    case 'later':
      return `[[later:20 By itself <<say:${cue.text}>>]]`
    case 'silence':
      return '[[silence]]'
    case 'problem':
      return PROBLEMS[cue.kind]
  }
}

function asking(call: ToolCue): object {
  return call.tool === 'shell' ? { command: call.command, choices: ['once', 'session', 'always', 'deny', 'deny_always'], ...(call.ms === undefined ? {} : { ms: call.ms }) } : {}
}

/** All begun before the first has ended, ended in the other order. */
function parallel(calls: ToolCue[]): string {
  const begun = calls.map((call, i) => `[[tool:${call.tool === 'unknown' ? call.name : call.tool} ${JSON.stringify({ call: `c${i}`, verb: 'other', open: true })}]]`)
  const ended = calls.map((call, i) => `[[end:c${i} ${JSON.stringify(ending(call))}]]`)
  return begun.join('') + ended.reverse().join('')
}

function ending(call: ToolCue): object {
  switch (call.tool) {
    case 'read':
      return { result: call.text }
    case 'read_missing':
    case 'unknown':
      return { state: 'failed', result: 'no such thing' }
    case 'write':
      return { diff: `--- /dev/null\n+++ ${call.file}\n+${call.text}` }
    case 'slow':
      return { ms: 1_000_000 }
    case 'shell':
      return { output: call.command }
  }
}

const PROBLEMS: Record<ProblemKind, string> = {
  unauthorized: '[[error:auth_mismatch The key was refused]]',
  rate_limited: '[[error:rate_limit Slow down]]',
  server_error: '[[error:provider_error Internal error]]',
  refused: '[[error:provider_unreachable connect ECONNREFUSED]]',
  hang: '[[silence]]',
  empty: '[[error:no_response]]',
  cut: '[[error:provider_garbled the stream broke off]]',
  malformed: '[[error:provider_garbled not JSON]]',
}
