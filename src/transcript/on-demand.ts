import type { Component } from 'solid-js'
import { onDemand } from '../ui/on-demand'
import type * as late from './late'

type Late = typeof late
type PropsOf<K extends keyof Late> = Late[K] extends Component<infer P> ? (P extends object ? P : never) : never

/** One of the parts that are loaded when the first of them is shown; all of them come together. */
function part<K extends keyof Late>(name: K): Component<PropsOf<K>> {
  return onDemand(() => import('./late').then((module) => module[name] as Component<PropsOf<K>>))
}

export const Asked = part('Asked')
export const Divider = part('Divider')
export const EditQuestion = part('EditQuestion')
export const Ending = part('Ending')
export const Notice = part('Notice')
export const Plan = part('Plan')
export const Reattached = part('Reattached')
export const Sent = part('Sent')
export const Stopping = part('Stopping')
export const ToolDetail = part('ToolDetail')
export const Word = part('Word')
