import type { ModelRef } from '../../contract/session'
import type { HermesProgram } from './port'
import type { SessionInfo } from './protocol/shapes'

/** Model and effort of a live session, as far as they were chosen for it; the rest is Hermes' own configuration. */
export class Chosen {
  #model: string | undefined
  #effort: string | undefined

  /** A new session was made with these. */
  made(model: ModelRef | null, effort: string | undefined): void {
    this.#model = model ? keyOf(model) : undefined
    this.#effort = effort
  }

  /** Changes what a turn wants changed; only between turns. */
  async choose(program: HermesProgram, live: string, info: SessionInfo, wish: { model: ModelRef | null; effort?: string | undefined }): Promise<void> {
    const { model, effort } = wish
    if (model && !this.#uses(info, model)) {
      await program.call('config.set', { session_id: live, key: 'model', value: `${model.id} --provider ${model.provider} --session` })
      this.#model = keyOf(model)
    }
    if (effort !== undefined && effort !== (this.#effort ?? info.reasoning_effort)) {
      await program.call('config.set', { session_id: live, key: 'reasoning', value: effort })
      this.#effort = effort
    }
  }

  /** Whether the session answers with this model; `auto` leaves the provider to Hermes. */
  #uses({ provider, model: id }: SessionInfo, model: ModelRef): boolean {
    if (this.#model !== undefined) return this.#model === keyOf(model)
    return id === undefined || (id === model.id && (provider === undefined || model.provider === 'auto' || provider === model.provider))
  }
}

function keyOf({ provider, id }: ModelRef): string {
  return `${provider} ${id}`
}
