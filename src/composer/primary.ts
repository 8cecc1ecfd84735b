import { t } from '../../i18n'
import type { BusyWay, Way } from './way'

/** What the box knows when it decides what its one button does. */
export interface BoxFacts {
  text: string
  /** Files go with it; words are not needed then. */
  files?: boolean | undefined
  /** Why its files cannot go yet. */
  held?: string | null | undefined
  /** A run is live in this chat. */
  working: boolean
  stopping: boolean
  /** The server can be reached. */
  online: boolean
  /** A model can answer. */
  ready: boolean
  /** A send is on its way and not answered yet. */
  sending: boolean
  /** A question card holds the box. */
  locked: boolean
  /** What this device does with a message while a run is live. */
  mode: BusyWay
  /** The agent takes words while it works. */
  steers: boolean
}

/** `off` stays focusable and its name says why (design/LANGUAGE.md §8). */
export type Primary = { act: Way | 'stop'; name: string } | { act: 'off'; look: 'arrow' | 'stop' | 'busy'; name: string }

export function primaryOf(facts: BoxFacts): Primary {
  const blank = facts.text.trim() === '' && !facts.files
  const off = (look: 'arrow' | 'stop' | 'busy', name: string): Primary => ({ act: 'off', look, name })
  if (facts.working && blank) {
    if (facts.stopping) return off('busy', t('composer.stopping'))
    return facts.online ? { act: 'stop', name: t('composer.stop') } : off('stop', t('composer.offline'))
  }
  if (!facts.online) return off('arrow', blank ? t('composer.empty') : t('composer.offline'))
  if (facts.sending) return off('busy', t('composer.sending'))
  if (facts.locked) return off('arrow', t('composer.locked'))
  if (!facts.working && !facts.ready) return off('arrow', t('composer.noModel'))
  if (blank) return off('arrow', t('composer.empty'))
  if (facts.held) return off('arrow', facts.held)
  if (!facts.working) return { act: 'send', name: t('composer.send') }
  const way = busyWay(facts)
  return { act: way, name: wayName(way) }
}

/** A run that is being stopped takes no words any more; what is written then goes next. */
export function busyWay(facts: Pick<BoxFacts, 'mode' | 'steers' | 'stopping'>): BusyWay {
  if (facts.stopping) return 'interrupt'
  return facts.mode === 'steer' && !facts.steers ? 'queue' : facts.mode
}

/** The others that the split half opens. */
export function otherWays(facts: Pick<BoxFacts, 'mode' | 'steers' | 'stopping'>): BusyWay[] {
  const shown = busyWay(facts)
  const all: BusyWay[] = facts.steers && !facts.stopping ? ['steer', 'queue', 'interrupt'] : ['queue', 'interrupt']
  return all.filter((way) => way !== shown)
}

export function wayName(way: BusyWay): string {
  return t(`composer.way.${way}`)
}
