import type { Timers } from '../port'

/** ms after a turn's end that Hermes may still be busy with it before it is asked (trap 5), how often then, and how long in all. */
const BUSY_MS = 2_000
const BUSY_MOST = 30_000
/** ms between two questions for life while a tool works, and how many in a row may have no answer (spec/agents.md §4: ten minutes). */
const LIFE_MS = 60_000
const LIFE_MOST = 10

type State = 'idle' | 'busy' | 'unknown'

/** Asks Hermes about a turn where it says nothing by itself: whether it is over, and whether there is anybody. One question of each kind at a time. */
export class Lookout {
  #cancelBusy: () => void = () => undefined
  #cancelLife: () => void = () => undefined

  constructor(private readonly timers: Timers, private readonly state: () => Promise<State>) {}

  /** The end of a turn was said; the session is free a little later. `free` is told once it is, or `stuck` when it stays busy. `stands`: false once nobody needs to know. */
  untilFree(stands: () => boolean, free: () => void, stuck: () => Promise<void>, waited = 0): void {
    this.#cancelBusy()
    this.#cancelBusy = this.timers.after(BUSY_MS, () => {
      void this.state().then(async (state) => {
        if (!stands()) return
        const now = waited + BUSY_MS
        if (state === 'busy' && now < BUSY_MOST) return this.untilFree(stands, free, stuck, now)
        if (state === 'busy') await stuck()
        free()
      })
    })
  }

  /** While a tool works nothing has to come: only a question that is not answered says that Hermes hangs. `waits`: whether it is such a time. */
  watch(stands: () => boolean, waits: () => boolean, hangs: () => void, missed = 0): void {
    this.#cancelLife()
    this.#cancelLife = this.timers.after(LIFE_MS, () => {
      if (!stands()) return
      void (waits() ? this.state() : Promise.resolve<State>('busy')).then((state) => {
        if (!stands()) return
        const now = state === 'unknown' ? missed + 1 : 0
        if (now < LIFE_MOST) return this.watch(stands, waits, hangs, now)
        hangs()
      })
    })
  }

  /** Nobody needs to know whether it is free any more. */
  free(): void {
    this.#cancelBusy()
  }

  end(): void {
    this.#cancelBusy()
    this.#cancelLife()
  }
}
