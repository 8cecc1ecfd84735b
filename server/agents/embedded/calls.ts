import type { CallFragment } from './dialect'

/** A tool call put together. `broken` says why it must not run. */
export interface WholeCall { id: string; name: string; args: string; broken?: 'unparsable' | 'mixed' | 'nameless' }

interface Open { id?: string; index?: number; name: string; args: string; mixed: boolean }

/**
 * Tool calls from fragments (spec/reports.md R217, R218, R224). Endpoints send the id only once, the same index for each call, no index, or a closing
 * fragment with the name alone. A fragment goes to the call that its id names, else to the only one it can belong to; where several could be meant, all
 * of them are `mixed` and none runs: never mixed arguments.
 */
export function makeCalls(): { add(fragment: CallFragment): void; count(): number; all(mint: (n: number) => string): WholeCall[] } {
  const calls: Open[] = []

  const open = (f: CallFragment): void => {
    calls.push({ id: f.id, index: f.index, name: f.name ?? '', args: f.args ?? '', mixed: false })
  }
  const grow = (call: Open, f: CallFragment): void => {
    if (f.id && !call.id) call.id = f.id
    if (f.name && call.name === '') call.name = f.name
    call.args += f.args ?? ''
  }
  const among = (candidates: Open[], f: CallFragment): void => {
    const unfinished = candidates.filter((call) => !isObjectText(call.args))
    if (unfinished.length === 1) return grow(unfinished[0]!, f)
    if (unfinished.length > 1) {
      for (const call of unfinished) call.mixed = true
      return
    }
    // All are whole already: an empty closing fragment says nothing new, anything else belongs to nobody.
    const last = candidates[candidates.length - 1]
    if ((f.args ?? '').trim() === '') return
    if (f.name || !last) return open(f)
    last.mixed = true
  }
  return {
    add: (f) => {
      if (f.id) {
        const known = calls.find((call) => call.id === f.id)
        if (known) return grow(known, f)
        const nameless = calls.find((call) => !call.id && f.index !== undefined && call.index === f.index)
        return nameless ? grow(nameless, f) : open(f)
      }
      if (f.index !== undefined) {
        const same = calls.filter((call) => call.index === f.index)
        if (same.length === 0) return open(f)
        if (f.name && same.every((call) => call.name !== '' && call.name !== f.name)) return open(f)
        return among(same, f)
      }
      if (f.name) {
        const same = calls.filter((call) => call.name === f.name)
        return same.length === 0 ? open(f) : among(same, f)
      }
      return calls.length === 0 ? open(f) : among(calls, f)
    },
    count: () => calls.length,
    all: (mint) =>
      calls.map((call, n) => {
        const args = call.args.trim() === '' ? '{}' : call.args
        const broken = call.mixed ? 'mixed' : call.name === '' ? 'nameless' : !isObjectText(args) ? 'unparsable' : undefined
        return { id: call.id || mint(n), name: call.name, args, broken }
      }),
  }
}

export function isObjectText(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
