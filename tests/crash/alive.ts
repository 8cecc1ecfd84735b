import { readFileSync } from 'node:fs'

/** True for a process that runs; one that is dead and not yet waited for does not. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/.test(readOr(`/proc/${pid}/stat`))
  } catch {
    return false
  }
}

/** A file's text; empty when it cannot be read. */
export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
