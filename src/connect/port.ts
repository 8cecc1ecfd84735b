import type { ModelsStatus, ProbeAnswer, SetupAnswer } from '../../server/contract/models'

/** What the form and the first screen ask of the server. All reject with `ProblemError`. Keys go out and never come back. */
export interface ConnectActions {
  status: () => Promise<ModelsStatus>
  probe: (input: ConnectInput) => Promise<ProbeAnswer>
  /** Keeps the connection and makes its model the default of new chats. */
  setup: (input: ConnectInput & { model: string }) => Promise<SetupAnswer>
  remove: (provider: string) => Promise<void>
}

/** Absent members keep what the server knows: its address, its key. */
export interface ConnectInput { provider: string; base_url?: string; api_key?: string }
