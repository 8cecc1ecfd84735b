import type { Choice } from '../../contract/approvals'

/**
 * What a person allowed beyond once. A command counts only as exactly that text in exactly that folder; `folder` stands for every change of a file inside it, and
 * only ever for one chat. `at`: server's ms.
 */
export type Allowance = { profile: string; session?: string; cwd: string; at: number } & ({ tool: 'shell'; command: string } | { tool: 'write'; session: string; folder: string })

/** What is about to be done, of which a tool says what may be allowed beyond once. */
export type Deed = { tool: 'shell'; command: string; cwd: string } | { tool: 'write'; folder: string; cwd: string }

/** How many are kept; the oldest go first. */
const MOST = 1000

const ONCE: Choice = { id: 'once', kind: 'once' }
const DENY: Choice = { id: 'deny', kind: 'deny' }

/** What can be chosen for a deed, with what it means beyond this once. *Always* only for what is exact. */
export function choicesFor(deed: Deed | undefined): Choice[] {
  if (deed?.tool === 'shell') {
    return [
      ONCE, { id: 'session', kind: 'session', consequence: 'This exact command in this folder will run without asking, in this chat.' },
      { id: 'always', kind: 'always', consequence: 'This exact command in this folder will run without asking, in every chat of this profile.' }, DENY,
    ]
  }
  if (deed) return [ONCE, { id: 'session', kind: 'session', consequence: 'Every change of a file inside this folder will be made without asking, in this chat.' }, DENY]
  return [ONCE, DENY]
}

/** Whether one of these stands for the deed, in that chat of that profile. */
export function allows(allowed: readonly Allowance[], who: { profile: string; session: string }, deed: Deed): boolean {
  return allowed.some((each) => {
    if (each.profile !== who.profile || (each.session !== undefined && each.session !== who.session) || each.cwd !== deed.cwd) return false
    if (each.tool === 'shell') return deed.tool === 'shell' && each.command === deed.command
    return deed.tool === 'write' && each.folder === deed.folder
  })
}

/** The allowance that a choice makes of a deed; null for what reaches no further than this once. */
export function allowanceOf(choice: 'once' | 'session' | 'always' | 'deny', who: { profile: string; session: string }, deed: Deed, at: number): Allowance | null {
  if (choice === 'session') return { profile: who.profile, session: who.session, at, ...deed }
  return choice === 'always' && deed.tool === 'shell' ? { profile: who.profile, at, ...deed } : null
}

/** With one more; the same one again only moves its time. */
export function withAllowance(allowed: readonly Allowance[], added: Allowance): Allowance[] {
  return [...allowed.filter((each) => !same(each, added)), added].slice(-MOST)
}

/** Without that one, whatever its time. */
export function withoutAllowance(allowed: readonly Allowance[], removed: Allowance): Allowance[] {
  return allowed.filter((each) => !same(each, removed))
}

function same(a: Allowance, b: Allowance): boolean {
  const what = (each: Allowance): string => (each.tool === 'shell' ? each.command : each.folder)
  return a.profile === b.profile && a.session === b.session && a.cwd === b.cwd && a.tool === b.tool && what(a) === what(b)
}
