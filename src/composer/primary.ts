import { t } from '../../i18n'

/** What the box knows when it decides what its one button does. */
export interface BoxFacts {
  text: string
  /** A run is live in this chat. */
  working: boolean
  stopping: boolean
  /** The server can be reached. */
  online: boolean
  /** A model can answer. */
  ready: boolean
  /** A send is on its way and not answered yet. */
  sending: boolean
}

/** `off` stays focusable and its name says why (design/LANGUAGE.md §8). There is no steer and no queue yet: a working chat is stopped or awaited. */
export type Primary = { act: 'send' | 'stop'; name: string } | { act: 'off'; look: 'arrow' | 'stop' | 'busy'; name: string }

export function primaryOf(facts: BoxFacts): Primary {
  const blank = facts.text.trim() === ''
  if (facts.stopping) return { act: 'off', look: 'busy', name: t('composer.stopping') }
  if (!facts.online) return { act: 'off', look: facts.working ? 'stop' : 'arrow', name: blank && !facts.working ? t('composer.empty') : t('composer.offline') }
  if (facts.sending) return { act: 'off', look: 'busy', name: t('composer.sending') }
  if (facts.working) return { act: 'stop', name: t('composer.stop') }
  if (!facts.ready) return { act: 'off', look: 'arrow', name: t('composer.noModel') }
  if (blank) return { act: 'off', look: 'arrow', name: t('composer.empty') }
  return { act: 'send', name: t('composer.send') }
}
