import { readdir, readFile } from 'node:fs/promises'
import type { ToolProcess } from '../store/port'

/** Variable that names the run in the environment of every process that a tool starts. It is no secret and opens nothing. */
export const RUN_MARK = 'TALARIA_RUN'

/** What is known of running processes, and how a group is ended; a parameter, so that tests need no victims. */
export interface ProcessTable {
  /** Identity of this boot of the machine; null where it cannot be told. */
  bootId(): Promise<string | null>
  /** Kernel start time of a process in clock ticks since boot, as text; null when there is none or it cannot be told. */
  startTime(pid: number): Promise<string | null>
  /** Whether a living process of this group carries the mark of a run; false where it cannot be told. */
  marked(pgid: number, run: string): Promise<boolean>
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
    marked: async (pgid, run) => {
      if (!linux) return false
      const mark = `\0${RUN_MARK}=${run}\0`
      for (const pid of await readdir('/proc').catch(() => [])) {
        if (!/^\d+$/.test(pid)) continue
        const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
        if (fieldsOf(stat)[2] !== String(pgid)) continue
        const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
        if (`\0${environment}\0`.includes(mark)) return true
      }
      return false
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

/** Field 22 of `/proc/<pid>/stat`. */
export function startTimeOf(stat: string): string | null {
  const value = fieldsOf(stat)[19]
  return value !== undefined && /^\d+$/.test(value) ? value : null
}

/** The fields of `/proc/<pid>/stat` from the third on. The command's name before them, in brackets, may hold spaces and brackets itself. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/**
 * Ends the process groups that a dead server left, each only if it is still the recorded one: same boot of the machine, and its leader has the
 * recorded start time or, where the leader has ended, one of its members carries the mark of the run. (The kernel gives a group's number to nobody
 * while the group has a member, so a member with the mark proves that the number was never given again.) Returns how many were ended.
 */
export async function endLeftovers(table: ProcessTable, recorded: ToolProcess[], forget: (pid: number) => Promise<void>): Promise<number> {
  const boot = await table.bootId()
  let ended = 0
  for (const process of recorded) {
    const known = boot !== null && boot === process.bootId && process.startTime !== '' && process.pid > 1
    if (known && (await isThatGroup(table, process)) && table.endGroup(process.pid)) ended++
    // What cannot be forgotten now, on a full disk, is looked at again at the next start.
    await forget(process.pid).catch(() => undefined)
  }
  return ended
}

async function isThatGroup(table: ProcessTable, { pid, startTime, run }: ToolProcess): Promise<boolean> {
  const leader = await table.startTime(pid)
  return leader === null ? await table.marked(pid, run) : leader === startTime
}
