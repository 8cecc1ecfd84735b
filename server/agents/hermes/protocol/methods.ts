import * as z from 'zod/mini'
import { listOf, maybe, sessionInfo, text, word } from './shapes'

const live = { session_id: word }
const ok = z.object({ status: maybe(word) })
const effort = z.string().check(z.maxLength(40))

/** What people and the agent have said, as `session.resume` tells it: texts only, no tools. */
const inflight = z.object({ user: maybe(text), assistant: maybe(text), streaming: maybe(z.boolean()) })

const resumed = z.object({
  ...live, session_key: maybe(word), resumed: maybe(word), info: maybe(sessionInfo), inflight: maybe(inflight), running: maybe(z.boolean()), status: maybe(word), queued: maybe(z.object({ user: maybe(text) })),
})

const provider = z.object({
  slug: word, name: maybe(word), is_current: maybe(z.boolean()), models: listOf(word), authenticated: maybe(z.boolean()), warning: maybe(text),
  capabilities: maybe(z.record(z.string(), z.object({ fast: maybe(z.boolean()), reasoning: maybe(z.boolean()) }))),
})

const liveSession = z.object({ id: word, session_key: word, status: maybe(word), title: maybe(word), last_active: maybe(z.number()) })

/**
 * The closed list of methods that we ever call (spec/agents.md §4). `owner`: it moves the ownership of a session to the socket that calls it. Parameters
 * are strict: over stdio a wrongly typed one kills the program (spec/hermes-rpc.md §0, trap 2); results keep what we use and ignore the rest.
 */
export const METHODS = {
  'session.create': {
    socket: 'owner',
    params: z.strictObject({ cwd: z.optional(word), source: z.optional(word), title: z.optional(word), model: z.optional(word), provider: z.optional(word), reasoning_effort: z.optional(effort) }),
    result: z.object({ ...live, stored_session_id: word, info: maybe(sessionInfo) }),
  },
  'session.resume': { socket: 'owner', params: z.strictObject(live), result: resumed },
  'prompt.submit': {
    socket: 'owner',
    params: z.strictObject({ ...live, text, truncate_before_user_ordinal: z.optional(z.int().check(z.nonnegative())) }),
    result: ok,
  },
  'session.active_list': { socket: 'control', params: z.strictObject({}), result: z.object({ sessions: listOf(liveSession) }) },
  'session.interrupt': { socket: 'control', params: z.strictObject(live), result: ok },
  'session.steer': { socket: 'control', params: z.strictObject({ ...live, text }), result: ok },
  'session.close': { socket: 'control', params: z.strictObject(live), result: z.object({ closed: maybe(z.boolean()) }) },
  'session.title': { socket: 'control', params: z.strictObject({ ...live, title: z.optional(word) }), result: z.object({ title: maybe(word) }) },
  'session.cwd.set': { socket: 'control', params: z.strictObject({ ...live, cwd: word }), result: sessionInfo },
  'session.compress': { socket: 'control', params: z.strictObject({ ...live, focus_topic: z.optional(text) }), result: ok },
  'approval.respond': { socket: 'control', params: z.strictObject({ ...live, choice: z.enum(['once', 'session', 'always', 'deny']) }), result: z.object({ resolved: z.number() }) },
  'clarify.respond': { socket: 'control', params: z.strictObject({ request_id: word, answer: text }), result: ok },
  'sudo.respond': { socket: 'control', params: z.strictObject({ request_id: word, password: text }), result: ok },
  'secret.respond': { socket: 'control', params: z.strictObject({ request_id: word, value: text }), result: ok },
  'config.get': { socket: 'control', params: z.strictObject({ key: z.enum(['mtime', 'reasoning', 'approval_mode']), session_id: z.optional(word) }), result: z.object({ value: z.optional(z.unknown()) }) },
  'config.set': {
    socket: 'control',
    params: z.union([z.strictObject({ ...live, key: z.literal('model'), value: word }), z.strictObject({ ...live, key: z.literal('reasoning'), value: effort })]),
    result: z.object({ value: z.optional(z.unknown()), scope: maybe(word), warning: maybe(text), confirm_required: maybe(z.boolean()), confirm_message: maybe(text) }),
  },
  'model.options': {
    socket: 'control',
    params: z.strictObject({ session_id: z.optional(word), refresh: z.optional(z.boolean()) }),
    result: z.object({ providers: listOf(provider), model: maybe(word), provider: maybe(word) }),
  },
  'setup.runtime_check': { socket: 'control', params: z.strictObject({}), result: z.object({ ok: maybe(z.boolean()), provider: maybe(word), model: maybe(word), source: maybe(word), error: maybe(text) }) },
  'command.dispatch': { socket: 'control', params: z.strictObject({ ...live, name: z.enum(['undo']), arg: z.optional(word) }), result: z.object({ type: maybe(word), message: maybe(text), notice: maybe(text) }) },
  'image.attach': { socket: 'control', params: z.strictObject({ ...live, path: word }), result: z.object({ attached: maybe(z.boolean()), path: maybe(word), count: maybe(z.number()) }) },
  'image.detach': { socket: 'control', params: z.strictObject({ ...live, path: word }), result: z.object({ detached: maybe(z.boolean()), count: maybe(z.number()) }) },
  'file.attach': { socket: 'control', params: z.strictObject({ ...live, path: word, name: z.optional(word) }), result: z.object({ attached: maybe(z.boolean()), path: maybe(word), ref_text: maybe(text) }) },
} as const

export type Method = keyof typeof METHODS
export type Params<M extends Method> = z.input<(typeof METHODS)[M]['params']>
export type Result<M extends Method> = z.output<(typeof METHODS)[M]['result']>
