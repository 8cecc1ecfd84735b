import type { Timers } from '../port'
import type { Member, ProgramFacts } from './facts'

/** ms between two looks at whether a process is gone. */
const LOOK = 25

export interface Rungs { term: number; kill: number }

/**
 * The lower end of the stop ladder (spec/agents.md §4): SIGTERM to the group, then SIGKILL to the group. What the program has started and outlives it gets a
 * moment to see that, and is then ended one by one, each only if it is provably the same process as before: the number of a group without its leader proves
 * nothing. True when nothing is left.
 */
export async function endGroup(leader: Member, rungs: Rungs, facts: ProgramFacts, timers: Timers): Promise<boolean> {
  const family = await facts.family(leader.pid)
  const gone = async (): Promise<boolean> => !(await lives(leader, facts))
  if (await lives(leader, facts)) facts.signal(-leader.pid, 'SIGTERM')
  if (!(await until(gone, rungs.term, timers))) {
    facts.signal(-leader.pid, 'SIGKILL')
    await until(gone, rungs.kill, timers)
  }
  const left = async (): Promise<Member[]> => {
    const living = await Promise.all(family.map((member) => lives(member, facts)))
    return family.filter((_, index) => living[index])
  }
  const none = async (): Promise<boolean> => (await left()).length === 0
  if (await until(none, rungs.kill, timers)) return true
  for (const member of await left()) facts.signal(member.pid, 'SIGKILL')
  return await until(none, rungs.kill, timers)
}

/** The same for a program as the supervisor holds it; resolves when its end was heard of. */
export async function endProgram({ pid, ended }: { pid: number; ended: Promise<unknown> }, rungs: Rungs, facts: ProgramFacts, timers: Timers): Promise<void> {
  const startTime = await facts.startTime(pid)
  if (startTime !== null) await endGroup({ pid, startTime }, rungs, facts, timers)
  else {
    // Our own child, on a machine that tells nothing of it, or one that has just ended: its number is its own until we have heard of its end.
    let over = false
    const heard = ended.then(() => void (over = true))
    const late = (ms: number): Promise<void> => new Promise((resolve) => void timers.after(ms, resolve))
    await late(0)
    if (!over) facts.signal(-pid, 'SIGTERM')
    await Promise.race([heard, late(rungs.term)])
    if (!over) facts.signal(-pid, 'SIGKILL')
  }
  await ended
}

/** A process that has ended and was not taken note of by its parent (a zombie) lives no more. */
async function lives({ pid, startTime }: Member, facts: ProgramFacts): Promise<boolean> {
  return (await facts.startTime(pid)) === startTime && (await facts.command(pid)) !== null
}

async function until(what: () => Promise<boolean>, ms: number, timers: Timers): Promise<boolean> {
  for (const end = timers.monotonic() + ms; ; ) {
    if (await what()) return true
    if (timers.monotonic() >= end) return false
    await new Promise<void>((resolve) => void timers.after(LOOK, resolve))
  }
}
