import type { Timers } from '../port'
import type { ProgramFacts } from './facts'
import { endGroup } from './ladder'
import type { Rungs } from './ladder'
import { dropRecord, isStill, readRecord } from './record'
import type { ProgramRecord } from './record'

export interface LeftParts {
  folder: string
  facts: ProgramFacts
  timers: Timers
  kind: Rungs
  args: readonly string[]
  greet(port: number): Promise<boolean>
}

/**
 * The program that an earlier server left in a folder, if it can be used: same boot, number and start time, our account, and the arguments that ours have; and
 * it answers. Only then may its token be sent. One that is provably ours and of no use is ended: it had not said its port when its server died, or it
 * answers nobody, and it holds the profile's store. What is not provably ours is left alone, and its record is forgotten.
 */
export async function findLeft({ folder, facts, timers, kind, args, greet }: LeftParts): Promise<(ProgramRecord & { startTime: string }) | null> {
  const record = await readRecord(folder)
  if (!record) return null
  const { pid, port, startTime } = record
  if (startTime !== null && (await isStill(record, facts)) === 'yes' && (await facts.ours(pid)) && endsWith(await facts.command(pid), args)) {
    if (port > 0 && (await greet(port).catch(() => false))) return { ...record, startTime }
    await endGroup({ pid, startTime }, kind, facts, timers)
  }
  await dropRecord(folder)
  return null
}

/** Resolves when it is gone: the end of a program that is not our child is told to nobody. */
export async function whenGone({ pid, startTime }: { pid: number; startTime: string }, facts: ProgramFacts, timers: Timers): Promise<void> {
  while ((await facts.startTime(pid)) === startTime && (await facts.command(pid)) !== null) await new Promise<void>((resolve) => void timers.after(LOOK, resolve))
}

/** ms between two looks at it. */
const LOOK = 200

function endsWith(command: readonly string[] | null, args: readonly string[]): boolean {
  return command !== null && command.length > args.length && args.every((arg, index) => command[command.length - args.length + index] === arg)
}
