import type { ApprovalRequest } from '../../../contract/approvals'
import type { ClarifyRequest } from '../../../contract/questions'
import type { ToolLocation, ToolVerb } from '../../../contract/rows'
import type { Deed } from '../allowance'
import type { Area } from './area'

/** Longest result that a model is given, UTF-16 units. */
export const RESULT_LIMIT = 60_000

/** What a tool tells of a call that it refuses or that failed; `message` is for the model and the person alike. */
export class ToolFault extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'ToolFault'
  }
}

export interface ToolScope {
  /** The session's folder. */
  area: Area
  session: string
  run: string
}

/** One of the workspace tools. `prepare` reads and checks, and changes nothing; what writes or runs stands in `run` and is asked for first. */
export interface Tool {
  name: string
  verb: ToolVerb
  description: string
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>
  /** What it acts on, from arguments that may be anything. */
  target(args: Record<string, unknown>): string | undefined
  /** Its calls are questions to the person: they get no step of their own. */
  asks?: true
  /** Throws `ToolFault`. */
  prepare(args: Record<string, unknown>, scope: ToolScope): Promise<Prepared>
}

export type Prepared = Work | Question

export interface Work {
  locations?: ToolLocation[]
  diff?: string
  /** Present when a person must be asked; `deed`: what can be allowed beyond once. */
  ask?: Pick<ApprovalRequest, 'action' | 'command' | 'diff' | 'reason' | 'risk' | 'cwd'> & { deed?: Deed }
  /** Throws `ToolFault`. */
  run(io: ToolIo): Promise<ToolResult>
}

/** Nothing is done but asked. */
export interface Question { clarify: ClarifyRequest }

export interface ToolIo {
  signal: AbortSignal
  /** The tail of what is printed so far. */
  show(output: string, cut: boolean): void
}

export interface ToolResult { state: 'done' | 'failed' | 'cancelled'; result: string; output?: string; exit?: number; cut?: boolean }

/** The text argument of that name; throws `ToolFault` naming it. */
export function textArg(args: Record<string, unknown>, name: string, otherwise?: string): string {
  const value = args[name]
  if (typeof value === 'string') return value
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise
  throw new ToolFault(`The argument "${name}" must be text.`)
}

/** The whole number argument of that name, held between bounds. */
export function numberArg(args: Record<string, unknown>, name: string, otherwise: number, least: number, most: number): number {
  const value = Number(args[name] ?? otherwise)
  if (!Number.isFinite(value)) throw new ToolFault(`The argument "${name}" must be a number.`)
  return Math.min(most, Math.max(least, Math.floor(value)))
}

export function shown(args: Record<string, unknown>, name: string): string | undefined {
  const value = args[name]
  return typeof value === 'string' && value !== '' ? value.slice(0, 400) : undefined
}

export function schema(properties: Record<string, unknown>, required: string[]): Record<string, unknown> {
  return { type: 'object', properties, required }
}
