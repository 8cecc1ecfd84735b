import type { ApprovalRequest } from '../../contract/approvals'
import type { ClarifyRequest } from '../../contract/questions'
import { TOOL_TEXT_LIMIT } from '../../contract/rows'
import type { AgentEvent } from '../port'
import { choicesFor, type Deed } from './allowance'
import type { WholeCall } from './calls'
import type { ToolMessage } from './messages'
import { answerOf } from './tools/ask-person'
import { type Prepared, RESULT_LIMIT, type Tool, ToolFault, type ToolResult, type ToolScope, type Work } from './tools/tool'

export interface CallIo {
  emit(event: AgentEvent): Promise<void>
  /** Asks the person; `stopped` when the run ends before an answer. */
  ask(call: string, request: ApprovalRequest): Promise<Decision>
  /** Whether the person allowed this before, for the chat or for always. */
  allowed(deed: Deed): Promise<boolean>
  /** Keeps what the person allowed beyond once; durable when it resolves. */
  keepAllowed(choice: 'session' | 'always', deed: Deed): Promise<void>
  /** Asks the person a question of the model's; null when nobody answers in time. `asked` is called once its row stands. */
  clarify(request: ClarifyRequest, asked: () => Promise<void>): Promise<{ words: string | null } | 'stopped'>
  signal: AbortSignal
  /** After the call is shown, before anything of it is done. */
  opened(): Promise<void>
}

export type Decision = 'once' | 'session' | 'always' | 'deny' | 'stopped'

const BROKEN: Record<NonNullable<WholeCall['broken']>, string> = {
  unparsable: 'The arguments of this call are not complete JSON, so it was not run.',
  mixed: 'The arguments of this call came mixed with those of another one, so it was not run. Make one call at a time.',
  nameless: 'This call named no tool, so nothing was run.',
}

const DENIED = 'The person refused this. Do not repeat it; do something else, or ask what they want.'
export const NOT_RUN = 'Not run: the person stopped the run before.'

/** Runs one call from its row's opening to its closing, and answers what the model is told. Never rejects for what a tool did. */
export async function runCall(call: WholeCall, tools: readonly Tool[], scope: ToolScope, io: CallIo): Promise<ToolMessage> {
  const tool = tools.find((t) => t.name === call.name)
  const args = call.broken ? undefined : (JSON.parse(call.args) as Record<string, unknown>)
  const told = (state: ToolState, result: string): ToolMessage => ({ role: 'tool', call: call.id, name: call.name || 'unknown', result: result.slice(0, RESULT_LIMIT), ...(state !== 'done' && { failed: true as const }) })
  const asked = tool?.asks && args && !io.signal.aborted ? await prepared(tool, args, scope) : null
  // A question of the model is its own row: a step beside it would say the same once more.
  if (asked && 'clarify' in asked) {
    const answer = await io.clarify(asked.clarify, io.opened)
    return answer === 'stopped' ? told('cancelled', NOT_RUN) : told('done', answerOf(answer.words))
  }
  await io.emit({
    type: 'tool.started', call: call.id, name: call.name || 'unknown', verb: tool?.verb ?? 'other',
    ...(tool && args && { target: tool.target(args) }), ...(args && { args: brief(args) }),
  })
  await io.opened()
  const end = async (state: ToolState, result: string, more: Partial<ToolResult> = {}): Promise<ToolMessage> => {
    const cut = more.cut === true || result.length > TOOL_TEXT_LIMIT
    await io.emit({
      type: 'tool.closed', call: call.id, state, result: result.slice(0, TOOL_TEXT_LIMIT), ...(more.output !== undefined && { output: more.output }),
      ...(more.exit !== undefined && { exit: more.exit }), ...(cut && { cut }),
    })
    return told(state, result)
  }
  if (io.signal.aborted) return await end('cancelled', NOT_RUN)
  if (call.broken) return await end('failed', BROKEN[call.broken])
  if (!tool || !args) return await end('failed', `There is no tool "${call.name}". There are: ${tools.map((t) => t.name).join(', ')}.`)
  const begun = asked ?? (await prepared(tool, args, scope))
  if ('fault' in begun) return io.signal.aborted ? await end('cancelled', NOT_RUN) : await end('failed', begun.fault)
  if ('clarify' in begun) return await end('cancelled', NOT_RUN)
  try {
    if (begun.diff !== undefined || begun.locations) await io.emit({ type: 'tool.changed', call: call.id, change: { diff: begun.diff, locations: begun.locations } })
    if (begun.ask) {
      const choice = await permitted(tool, begun.ask, call.id, io)
      if (choice === 'deny') return await end('denied', DENIED)
      if (choice === 'stopped' || io.signal.aborted) return await end('cancelled', NOT_RUN)
    }
    const done = await begun.run({ signal: io.signal, show: (output, cut) => void io.emit({ type: 'tool.changed', call: call.id, change: { output, ...(cut && { cut }) } }) })
    return await end(done.state, done.result, done)
  } catch (error) {
    if (io.signal.aborted) return await end('cancelled', NOT_RUN)
    return await end('failed', wordsOf(error))
  }
}

type ToolState = 'done' | 'failed' | 'cancelled' | 'denied'

async function prepared(tool: Tool, args: Record<string, unknown>, scope: ToolScope): Promise<Prepared | { fault: string }> {
  try {
    return await tool.prepare(args, scope)
  } catch (error) {
    return { fault: wordsOf(error) }
  }
}

function wordsOf(error: unknown): string {
  return error instanceof ToolFault ? error.message : `The tool failed: ${(error as Error).message}`
}

/** Asks, unless the person allowed it before. What they allow beyond once is kept before anything is done; what cannot be kept counts once, and that is said. */
async function permitted(tool: Tool, { deed, ...ask }: NonNullable<Work['ask']>, call: string, io: CallIo): Promise<Decision> {
  if (deed && (await io.allowed(deed))) return 'once'
  const choice = await io.ask(call, { ...ask, tool: tool.name, choices: choicesFor(deed) })
  if (deed && (choice === 'session' || choice === 'always')) {
    await io.keepAllowed(choice, deed).catch((error: unknown) => io.emit({ type: 'notice', code: 'allowance_not_kept', words: `What you allowed could not be kept, so it counts for this once: ${(error as Error).message}` }))
  }
  return choice
}

/** Arguments as shown: long texts are shortened; what is written stands in the diff, what is run in the question. */
function brief(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, typeof value === 'string' && value.length > 2000 ? `${value.slice(0, 2000)}…` : value]))
}
