import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { ToolProcess } from '../../../store/port'
import { RUN_MARK, type ProcessTable } from '../../../runs/processes'
import type { Timers } from '../../port'

/** Where process groups are recorded, so that what outlives our death is ended at the next start. */
export interface Processes { note(process: ToolProcess): Promise<void>; forget(pid: number): Promise<void> }

export interface ChildDeps {
  timers: Timers
  processes: Processes
  /** Tells when a process was started; what it cannot tell is not recorded (law 9: a reused id is never taken for it). */
  table: Pick<ProcessTable, 'bootId' | 'startTime'>
  /** The server's own, of which a command gets an allowed part. */
  env: Readonly<Record<string, string | undefined>>
}

/** What of our environment a command may see: nothing that could be a key of ours or of the profile (issue 3, item 5). */
const KEPT = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_RUNTIME_DIR|SystemRoot|ComSpec|PATHEXT)$/

/** How long a group has between SIGTERM and SIGKILL, and its pipes between its end and ours, ms. */
const GRACE = 2_000
const PIPES = 500

export interface Ended { exit: number | null; signal: string | null; why: 'ended' | 'stopped' | 'timed_out' }

/**
 * Runs one command in a process group of its own. The leader waits on its input until its id and start time are recorded, and only then becomes the
 * command: nothing that we do not know of has ever run. If we die before, its input ends and it ends, too. When the command is over, whatever is
 * left of its group is ended.
 */
export async function runCommand(
  deps: ChildDeps,
  input: { command: string; cwd: string; session: string; run: string; limit: number; signal: AbortSignal },
  print: (text: string) => void,
): Promise<Ended> {
  const { timers, processes } = deps
  const child = spawn('/bin/sh', ['-c', 'IFS= read -r go || exit 125; exec "$1" -c "$2" </dev/null', 'sh', shell(), input.command], {
    cwd: input.cwd, env: environment(deps.env, input.run), detached: true, stdio: ['pipe', 'pipe', 'pipe'],
  })
  await spawned(child)
  const pid = child.pid!
  const ended = end(child)
  let why: Ended['why'] = 'ended'
  const stop = (reason: 'stopped' | 'timed_out'): void => {
    if (why === 'ended') why = reason
    signalGroup(pid, 'SIGTERM')
    child.stdin.destroy()
  }
  const onStop = (): void => stop('stopped')
  child.stdin.on('error', () => undefined)
  printed(child, print)
  const cancels: (() => void)[] = []
  try {
    const [startTime, boot] = await Promise.all([deps.table.startTime(pid), deps.table.bootId()])
    if (startTime !== null && boot !== null) await processes.note({ pid, startTime, bootId: boot, session: input.session, run: input.run })
    if (input.signal.aborted) stop('stopped')
    else {
      input.signal.addEventListener('abort', onStop)
      cancels.push(timers.after(input.limit, () => stop('timed_out')))
      child.stdin.end('\n')
    }
    const stubborn = new Promise<void>((resolve) => {
      const kill = (): void => void cancels.push(timers.after(GRACE, () => {
        signalGroup(pid, 'SIGKILL')
        resolve()
      }))
      if (input.signal.aborted) kill()
      else input.signal.addEventListener('abort', kill, { once: true })
      cancels.push(timers.after(input.limit, kill))
    })
    const exit = await Promise.race([ended.exit, stubborn.then(() => ended.exit)])
    await endGroup(pid, timers)
    await Promise.race([ended.closed, pause(timers, PIPES)])
    return { ...exit, why }
  } catch (error) {
    signalGroup(pid, 'SIGKILL')
    throw error
  } finally {
    for (const cancel of cancels) cancel()
    input.signal.removeEventListener('abort', onStop)
    child.stdout.destroy()
    child.stderr.destroy()
    // A record that stays, on a full disk, is looked at and forgotten at the next start; the command has run and its end is told.
    await processes.forget(pid).catch(() => undefined)
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
}

function end(child: ChildProcess): { exit: Promise<{ exit: number | null; signal: string | null }>; closed: Promise<void> } {
  return {
    exit: new Promise((resolve) => child.once('exit', (exit, signal) => resolve({ exit, signal }))),
    closed: new Promise((resolve) => child.once('close', () => resolve())),
  }
}

/** Both outputs as one text, in the order of arrival; characters cut between pieces are put together. */
function printed(child: ChildProcess, print: (text: string) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    const decoder = new TextDecoder()
    stream.on('data', (bytes: Buffer) => print(decoder.decode(bytes, { stream: true })))
    stream.on('error', () => undefined)
  }
}

/** Ends what is left of a group: SIGTERM, a moment, SIGKILL. Resolves when none of it is alive or it was killed. */
async function endGroup(pid: number, timers: Timers): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  for (let waited = 0; waited < GRACE; waited += 50) {
    await pause(timers, 50)
    if (!signalGroup(pid, 0)) return
  }
  signalGroup(pid, 'SIGKILL')
}

/** False when no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}

function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => void timers.after(ms, resolve))
}

function shell(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
}

export function environment(env: Readonly<Record<string, string | undefined>>, run: string): Record<string, string> {
  const kept: Record<string, string> = { [RUN_MARK]: run, TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' }
  for (const [name, value] of Object.entries(env)) if (KEPT.test(name) && value !== undefined) kept[name] = value
  return kept
}
