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
  /** Living processes of its group, and all that it or they have started, in whatever group; empty where it cannot be told. */
  family(pid: number): Promise<Member[]>
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
  const all = async (): Promise<Row[]> => {
    const pids = linux ? (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number) : []
    const rows = await Promise.all(pids.map(async (pid) => rowOf(pid, await read(pid, 'stat'))))
    return rows.filter((row) => row !== null)
  }
  return {
    bootId,
    startTime,
    command,
    ours: async (pid) => linux && Number.isSafeInteger(pid) && pid > 1 && (await stat(`/proc/${pid}`).then((info) => info.uid === process.getuid?.(), () => false)),
    family: async (pid) => {
      const rows = await all()
      const found = new Set(rows.filter((row) => row.pid === pid || row.group === pid).map((row) => row.pid))
      for (let before = -1; before !== found.size; ) {
        before = found.size
        for (const row of rows) if (found.has(row.parent)) found.add(row.pid)
      }
      return rows.filter((row) => found.has(row.pid)).map(({ pid, startTime }) => ({ pid, startTime }))
    },
    children: async (pid) => (await Promise.all((await all()).filter((row) => row.parent === pid).map((row) => command(row.pid)))).flatMap((found) => (found ? [found] : [])),
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

interface Row extends Member { parent: number; group: number }

/** Null for one that has ended and was only not taken note of. */
function rowOf(pid: number, stat: string | null): Row | null {
  // Its name before them, in brackets, may hold spaces and brackets itself. After it: state, parent, group.
  const [state, parent, group] = stat === null ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startTime = stat === null ? null : startTimeOf(stat)
  return startTime === null || state === 'Z' || state === 'X' ? null : { pid, startTime, parent: Number(parent), group: Number(group) }
}
