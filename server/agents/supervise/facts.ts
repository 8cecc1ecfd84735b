import { readdir, readFile, stat } from 'node:fs/promises'
import { startTimeOf, systemProcesses } from '../../runs/processes'
import type { Table } from './record'

/** A process that is provably this one as long as its start time is the same. */
export interface Member { pid: number; startTime: string }

/** What is known of running programs, and how a group is told to end; a parameter, so that tests need no victims. */
export interface ProgramFacts extends Table {
  /** Its arguments, the program first; null when there is none or it cannot be told. */
  command(pid: number): Promise<string[] | null>
  /** Whether it runs as the account that we run as; false where it cannot be told. */
  ours(pid: number): Promise<boolean>
  /** Living processes of a group; empty where it cannot be told. */
  members(pgid: number): Promise<Member[]>
  /** Its direct children, as their arguments; empty where it cannot be told. */
  children(pid: number): Promise<string[][]>
  /** To a whole group (a negative number) or one process. False when there was none. */
  signal(pid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean
}

/** Linux only: elsewhere a process cannot be told from a later one with its number, so none is adopted. */
export function systemFacts(platform: string = process.platform): ProgramFacts {
  const linux = platform === 'linux'
  const { bootId, startTime } = systemProcesses(platform)
  const read = (pid: number, file: string): Promise<string | null> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => null)
  const command = async (pid: number): Promise<string[] | null> => {
    const text = linux && Number.isSafeInteger(pid) && pid > 1 ? await read(pid, 'cmdline') : null
    return text ? text.replace(/\0$/, '').split('\0') : null
  }
  /** Every process whose field of `stat`, counted from the third on, has this value. */
  const where = async (field: number, value: number): Promise<{ pid: number; stat: string }[]> => {
    if (!linux) return []
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number)
    const stats = await Promise.all(pids.map(async (pid) => ({ pid, stat: (await read(pid, 'stat')) ?? '' })))
    return stats.filter(({ stat }) => fieldsOf(stat)[field] === String(value))
  }
  return {
    bootId,
    startTime,
    command,
    ours: async (pid) => linux && Number.isSafeInteger(pid) && pid > 1 && (await stat(`/proc/${pid}`).then((info) => info.uid === process.getuid?.(), () => false)),
    members: async (pgid) => (await where(2, pgid)).flatMap(({ pid, stat }) => {
      const startTime = startTimeOf(stat)
      return startTime === null || fieldsOf(stat)[0] === 'Z' ? [] : [{ pid, startTime }]
    }),
    children: async (pid) => (await Promise.all((await where(1, pid)).map((child) => command(child.pid)))).flatMap((found) => (found ? [found] : [])),
    signal: (pid, signal) => {
      try {
        process.kill(pid, signal)
        return true
      } catch {
        return false
      }
    },
  }
}

/** The fields of `/proc/<pid>/stat` from the third on: state, parent, group, … */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
