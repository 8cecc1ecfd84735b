import type { ApprovalRequest } from '../../contract/approvals'
import { TOOL_TEXT_LIMIT } from '../../contract/rows'
import type { AgentEvent } from '../port'
import type { WholeCall } from './calls'
import type { ToolMessage } from './messages'
import { type Prepared, RESULT_LIMIT, type Tool, ToolFault, type ToolResult, type ToolScope } from './tools/tool'

export interface CallIo {
  emit(event: AgentEvent): Promise<void>
  /** Asks the person; `stopped` when the run ends before an answer. */
  ask(call: string, request: ApprovalRequest): Promise<'once' | 'deny' | 'stopped'>
  signal: AbortSignal
  /** After the call is shown, before anything of it is done. */
  opened(): Promise<void>
}

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
  await io.emit({
    type: 'tool.started', call: call.id, name: call.name || 'unknown', verb: tool?.verb ?? 'other',
    ...(tool && args && { target: tool.target(args) }), ...(args && { args: brief(args) }),
  })
  await io.opened()
  const end = async (state: 'done' | 'failed' | 'cancelled' | 'denied', result: string, more: Partial<ToolResult> = {}): Promise<ToolMessage> => {
    const cut = more.cut === true || result.length > TOOL_TEXT_LIMIT
    await io.emit({
      type: 'tool.closed', call: call.id, state, result: result.slice(0, TOOL_TEXT_LIMIT), ...(more.output !== undefined && { output: more.output }),
      ...(more.exit !== undefined && { exit: more.exit }), ...(cut && { cut }),
    })
    return { role: 'tool', call: call.id, name: call.name || 'unknown', result: result.slice(0, RESULT_LIMIT), ...(state !== 'done' && { failed: true as const }) }
  }
  if (io.signal.aborted) return await end('cancelled', NOT_RUN)
  if (call.broken) return await end('failed', BROKEN[call.broken])
  if (!tool || !args) return await end('failed', `There is no tool "${call.name}". There are: ${tools.map((t) => t.name).join(', ')}.`)
  try {
    const prepared = await tool.prepare(args, scope)
    if (prepared.diff !== undefined || prepared.locations) await io.emit({ type: 'tool.changed', call: call.id, change: { diff: prepared.diff, locations: prepared.locations } })
    if (prepared.ask) {
      const choice = await io.ask(call.id, request(tool, prepared.ask))
      if (choice === 'deny') return await end('denied', DENIED)
      if (choice === 'stopped' || io.signal.aborted) return await end('cancelled', NOT_RUN)
    }
    const done = await prepared.run({ signal: io.signal, show: (output, cut) => void io.emit({ type: 'tool.changed', call: call.id, change: { output, ...(cut && { cut }) } }) })
    return await end(done.state, done.result, done)
  } catch (error) {
    if (io.signal.aborted) return await end('cancelled', NOT_RUN)
    return await end('failed', error instanceof ToolFault ? error.message : `The tool failed: ${(error as Error).message}`)
  }
}

function request(tool: Tool, ask: NonNullable<Prepared['ask']>): ApprovalRequest {
  return { ...ask, tool: tool.name, choices: [{ id: 'once', kind: 'once' }, { id: 'deny', kind: 'deny' }] }
}

/** Arguments as shown: long texts are shortened; what is written stands in the diff, what is run in the question. */
function brief(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, typeof value === 'string' && value.length > 2000 ? `${value.slice(0, 2000)}…` : value]))
}
