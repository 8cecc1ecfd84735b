import { createMemo, type Accessor } from 'solid-js'
import type { Route } from './route'

/** The pages of settings. */
export type SettingsPage = 'connection' | 'agent' | 'appearance'

/** What a route means on this screen. */
export interface Place {
  /** The chat that is open; null elsewhere and in an empty one. */
  session: Accessor<string | null>
  /** The page of settings, `list` on a phone's list of them, null among chats. */
  settings: Accessor<SettingsPage | 'list' | null>
  /** Phones show one of list and detail; an empty list gives way to the empty chat. */
  screen: () => 'list' | 'detail' | 'empty'
  /** A chat may begin here. */
  fresh: () => boolean
}

/** `none`: it is known that there are no chats. */
export function createPlace(route: Accessor<Route>, phone: Accessor<boolean>, none: () => boolean): Place {
  return {
    session: createMemo(() => {
      const at = route()
      return at.name === 'session' ? at.id : null
    }),
    settings: createMemo(() => {
      const { name } = route()
      return name === 'connection' || name === 'agent' || name === 'appearance' ? name : name === 'settings' ? (phone() ? 'list' : 'connection') : null
    }),
    screen: () => {
      const { name } = route()
      if (name === 'settings') return 'list'
      if (name !== 'home') return 'detail'
      return none() ? 'empty' : 'list'
    },
    fresh: () => route().name === 'home' || route().name === 'new',
  }
}
