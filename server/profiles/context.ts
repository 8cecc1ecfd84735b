/**
 * Profiles are values (law 10): a request resolves one context and passes it on. `process.env` is never mutated, and nothing reads another profile's keys.
 */
export interface ProfileContext {
  /** `default` for the root profile. */
  name: string
  /** Absolute home of the profile: `config.yaml`, `.env`. */
  home: string
  /** Real path of the home: what connections and caches are keyed by. */
  scope: string
  /** The profile's own `.env`, parsed; never the server's environment. */
  env: Readonly<Record<string, string>>
  isLaunch: boolean
}
