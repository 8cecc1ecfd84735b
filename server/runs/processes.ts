import { readFile } from 'node:fs/promises'
import type { ToolProcess } from '../store/port'

/** What is known of running processes, and how a group is ended; a parameter, so that tests need no victims. */
export interface ProcessTable {
  /** Identity of this boot of the machine; null where it cannot be told. */
  bootId(): Promise<string | null>
  /** Kernel start time of a process in clock ticks since boot, as text; null when there is none or it cannot be told. */
  startTime(pid: number): Promise<string | null>
  /** Ends a process group at once. False when there was none. */
  endGroup(pgid: number): boolean
}

/** Linux only: elsewhere nothing can be told apart from a reused id, so nothing is ended (law 9). */
export function systemProcesses(platform: string = process.platform): ProcessTable {
  const linux = platform === 'linux'
  return {
    bootId: async () => (linux ? readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim() || null, () => null) : null),
    startTime: async (pid) => {
      if (!linux || !Number.isSafeInteger(pid) || pid <= 1) return null
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
      return stat === null ? null : startTimeOf(stat)
    },
    endGroup: (pgid) => {
      try {
        process.kill(-pgid, 'SIGKILL')
        return true
      } catch {
        return false
      }
    },
  }
}

/** Field 22 of `/proc/<pid>/stat`. The command's name, in brackets, may hold spaces and brackets itself. */
export function startTimeOf(stat: string): string | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const value = fields[19]
  return value !== undefined && /^\d+$/.test(value) ? value : null
}

/**
 * Ends the process groups that a dead server left, each only if its leader is still the process that was recorded: same boot of the
 * machine, same start time. Returns how many were ended.
 */
export async function endLeftovers(table: ProcessTable, recorded: ToolProcess[], forget: (pid: number) => Promise<void>): Promise<number> {
  const boot = await table.bootId()
  let ended = 0
  for (const process of recorded) {
    const same = boot !== null && boot === process.bootId && process.startTime !== '' && (await table.startTime(process.pid)) === process.startTime
    if (same && process.pid > 1 && table.endGroup(process.pid)) ended++
    await forget(process.pid)
  }
  return ended
}
