import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessTable } from '../../runs/processes'

/** Which process a program of ours is, and how it is spoken to; in a file that only this account can read. */
export interface ProgramRecord {
  pid: number
  /** As `ProcessTable` tells them; null where it cannot. */
  startTime: string | null
  boot: string | null
  /** 0: it has not said that it is ready. */
  port: number
  token: string
  /** Server's ms. */
  startedAt?: number
}

export type Table = Pick<ProcessTable, 'bootId' | 'startTime'>

const fileOf = (folder: string): string => join(folder, 'agent.json')

/** Null when there is none, or it cannot be read. */
export async function readRecord(folder: string): Promise<ProgramRecord | null> {
  try {
    const value = JSON.parse(await readFile(fileOf(folder), 'utf8')) as ProgramRecord
    const whole = Number.isSafeInteger(value.pid) && value.pid > 1 && Number.isSafeInteger(value.port) && typeof value.token === 'string' && value.token.length > 20
    return whole ? value : null
  } catch {
    return null
  }
}

/** Whole or not at all, readable for this account alone. */
export async function writeRecord(folder: string, record: ProgramRecord): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const part = join(folder, `agent.${record.pid}.part`)
  await writeFile(part, JSON.stringify(record), { mode: 0o600 })
  await rename(part, fileOf(folder))
}

export async function dropRecord(folder: string): Promise<void> {
  await rm(fileOf(folder), { force: true }).catch(() => undefined)
}

/**
 * Whether the recorded process is surely still that one. Where the machine cannot tell (`unknown`), only the token that it answers to can;
 * nothing is ever ended by a mere number (law 9).
 */
export async function isStill(record: ProgramRecord, table: Table): Promise<'yes' | 'no' | 'unknown'> {
  if (record.startTime === null || record.boot === null) return 'unknown'
  const [boot, startTime] = await Promise.all([table.bootId(), table.startTime(record.pid)])
  return boot === record.boot && startTime === record.startTime ? 'yes' : 'no'
}
