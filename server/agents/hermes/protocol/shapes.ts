import * as z from 'zod/mini'

/** Longest text that any one frame of Hermes may carry; its own limit for a frame is 16 MiB (spec/hermes-rpc.md §1.2). */
export const TEXT_MOST = 16 * 1024 * 1024

/** Longest id, name or label; what is longer is none. */
const WORD_MOST = 4096

/** Most entries of a list that are looked at. */
export const LIST_MOST = 5000

export const word = z.string().check(z.maxLength(WORD_MOST))
export const text = z.string().check(z.maxLength(TEXT_MOST))

/** A member that is missing, null or of another type is absent: what we do not need must not cost a frame. */
export function maybe<T extends z.core.SomeType>(schema: T): z.ZodMiniCatch<z.ZodMiniOptional<T>> {
  return z.catch(z.optional(schema), undefined as never)
}

/** A list of which what does not fit is left out. Missing or no list: absent. */
export function listOf<T extends z.core.$ZodType>(schema: T) {
  return maybe(z.pipe(z.array(z.unknown()), z.transform((entries: unknown[]) => entries.slice(0, LIST_MOST).flatMap((entry) => {
    const found = z.safeParse(schema, entry)
    return found.success ? [found.data] : []
  }))))
}

/** Counters of a live session, cumulative; not what a turn used (spec/agents.md §3). */
export const liveUsage = z.object({
  input: maybe(z.number()), output: maybe(z.number()), reasoning: maybe(z.number()), context_used: maybe(z.number()), context_max: maybe(z.number()), compressions: maybe(z.number()),
  model: maybe(word), active_subagents: maybe(z.number()),
})

/** What is said of a live session; the system prompt and skills are not looked at (spec/hermes-rpc.md §10, 10). */
export const sessionInfo = z.object({
  model: maybe(word), provider: maybe(word), reasoning_effort: maybe(word), approval_mode: maybe(word), yolo: maybe(z.boolean()), cwd: maybe(word), running: maybe(z.boolean()),
  title: maybe(word), stored_session_id: maybe(word), version: maybe(word), profile_name: maybe(word), desktop_contract: maybe(z.number()), usage: maybe(liveUsage),
  credential_warning: maybe(text), config_warning: maybe(text), lazy: maybe(z.boolean()),
  /** Names of the tools that it has, by their sets. */
  tools: maybe(z.record(z.string(), listOf(word))),
})
export type SessionInfo = z.output<typeof sessionInfo>
