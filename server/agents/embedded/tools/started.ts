import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

/**
 * When a process was started, as text that no later process with the same id shares within one boot: field 22 of `/proc/<pid>/stat` (clock ticks since
 * boot), elsewhere what `ps` tells. Null when there is no such process.
 */
export async function processStart(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The name may hold blanks and brackets: fields are counted from its end.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch (error) {
    if (process.platform === 'linux') return (error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ESRCH' ? null : Promise.reject(error as Error)
  }
  return await new Promise((resolve) => {
    execFile('ps', ['-o', 'lstart=', '-p', String(pid)], (error, out) => resolve(error ? null : out.trim() || null))
  })
}

/** Identity of this boot of the machine; empty where the system has none to tell. */
export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '')).trim()
}
