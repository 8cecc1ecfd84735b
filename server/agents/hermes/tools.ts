import type { ToolLocation, ToolVerb } from '../../contract/rows'
import type { AgentEvent } from '../port'
import type { Payload } from './protocol/events'

/** Tools of Hermes as people know them: what they do, and the argument that says to what. Others are `other`, with the label that Hermes gives. */
const KNOWN: Record<string, { verb: ToolVerb; target?: string }> = {
  terminal: { verb: 'run', target: 'command' }, execute_code: { verb: 'run', target: 'code' }, process: { verb: 'run', target: 'action' },
  read_file: { verb: 'read', target: 'path' }, write_file: { verb: 'write', target: 'path' }, patch: { verb: 'change', target: 'path' }, search_files: { verb: 'search', target: 'pattern' },
  list_files: { verb: 'list', target: 'path' }, vision_analyze: { verb: 'read', target: 'image_url' }, session_search: { verb: 'search', target: 'query' },
  web_search: { verb: 'web', target: 'query' }, web_extract: { verb: 'web', target: 'urls' }, browser_navigate: { verb: 'web', target: 'url' },
  skills_list: { verb: 'skill' }, skill_view: { verb: 'skill', target: 'name' }, skill_manage: { verb: 'skill', target: 'name' }, memory: { verb: 'memory', target: 'content' },
  delegate_task: { verb: 'other', target: 'goal' },
}

type Args = Record<string, unknown>
type Start = Payload<'tool.start'>
type Complete = Payload<'tool.complete'>
type Closed = Extract<AgentEvent, { type: 'tool.closed' }>

export interface Head { verb: ToolVerb; target?: string; title?: string; args?: Args; locations?: ToolLocation[] }

/** What a tool's row says at its start. Hermes gives the last part of the arguments only, as text; where that is no whole value its own label stands for them. */
export function headOf({ name, context, args_text: written }: Start, cwd?: string): Head {
  const args = written === undefined ? undefined : objectIn(written)
  const known = described(name, args, cwd)
  return { ...known, ...(context ? labelled(known, context) : {}), ...(args ? { args } : {}) }
}

/** Hermes' label begins with a verb of its own ("Reading build.sh"), and the row has one already. */
function labelled({ verb, target }: Pick<Head, 'verb' | 'target'>, label: string): Pick<Head, 'title' | 'target'> {
  if (verb === 'other') return { title: label }
  return target === undefined ? { target: label.replace(/^[A-Z][a-z]+ing (?=.)/, '') } : {}
}

/** The same from the whole arguments, which come with the end. Paths within `cwd` are shown from there. */
export function described(name: string, args: Args | undefined, cwd?: string): Pick<Head, 'verb' | 'target' | 'locations'> {
  const { verb, target } = KNOWN[name] ?? { verb: name.startsWith('browser_') ? ('web' as const) : ('other' as const) }
  const said = wordsOf(target === undefined ? undefined : args?.[target])
  const words = target === 'path' && cwd !== undefined && said?.startsWith(`${cwd}/`) ? said.slice(cwd.length + 1) || said : said
  const path = typeof args?.path === 'string' && args.path !== '' ? args.path : undefined
  return { verb, ...(words ? { target: words } : {}), ...(path ? { locations: [{ path }] } : {}) }
}

/** How a tool ended. A failure is visible in its result alone (spec/hermes-rpc.md §4.2): by `error`, `exit_code`, `status`, `success`. */
export function closingOf({ name, result, inline_diff: inline }: Complete): Omit<Closed, 'type' | 'call'> {
  const value = isObject(result) ? result : typeof result === 'string' ? objectIn(result) : undefined
  const exit = numberIn(value?.exit_code)
  const diff = diffOf(value, inline)
  const output = name === 'terminal' || name === 'execute_code' || name === 'process' ? stringIn(value?.output) : undefined
  const words = output === undefined ? told(result, value) : stringIn(value?.error)
  return {
    state: stateOf(value, exit), ...(words ? { result: words } : {}), ...(output === undefined ? {} : { output }), ...(diff ? { diff } : {}),
    ...(exit === undefined || exit < 0 ? {} : { exit }),
  }
}

function stateOf(value: Args | undefined, exit: number | undefined): Closed['state'] {
  const status = stringIn(value?.status)
  const error = wordsOf(value?.error)
  // Denied by a person, by nobody in time, or because a sub-agent cannot ask (recordings 04, 05, 15).
  if (status === 'blocked' || status === 'pending_approval' || status === 'approval_required') return 'denied'
  if (exit === 130 && /interrupted/i.test(stringIn(value?.output) ?? '')) return 'cancelled'
  return error || (exit !== undefined && exit !== 0) || value?.success === false || status === 'error' || status === 'failed' ? 'failed' : 'done'
}

/** What the model was told, in the member that holds it; else all of it. */
function told(result: unknown, value: Args | undefined): string | undefined {
  if (!value) return typeof result === 'string' ? result : result === undefined || result === null ? undefined : JSON.stringify(result)
  return wordsOf(value.error) ?? stringIn(value.content) ?? stringIn(value.output) ?? JSON.stringify(value, null, 1)
}

/** A unified diff: the tool's own, or the one for a terminal without its colours and with the usual head (recording 02). */
function diffOf(value: Args | undefined, inline: string | undefined): string | undefined {
  const own = stringIn(value?.diff)
  if (own || inline === undefined) return own
  const lines = plain(inline).split('\n').filter((line) => !/^\s*┊ /.test(line))
  return lines.flatMap((line) => {
    const [, from, to] = /^(a\/.*) → (b\/.*)$/.exec(line) ?? []
    return from === undefined ? [line] : [`--- ${from}`, `+++ ${to}`]
  }).join('\n')
}

/** Text without the control sequences of a terminal. */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- it is what they are.
  return text.replace(/\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g, '')
}

/** The object that a text holds; undefined for anything else, also for one that is cut. */
function objectIn(text: string): Args | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function wordsOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '' || value === false) return undefined
  if (typeof value === 'string') return value
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value.join(', ') : JSON.stringify(value)
}

function stringIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function isObject(value: unknown): value is Args {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
