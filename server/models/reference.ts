import type { ModelRef } from '../contract/session'
import type { FullConnection } from './connection'
import { knownId } from './providers'

/**
 * From what a client sent to a reference (spec/server.md §6.1–6.2). `@<connection>:<model>` and a separate connection name say it outright, the longest
 * fitting connection first; a bare id belongs to a connection that lists it, else to the default's. A slash proves nothing. Null for nothing sent.
 */
export function refOf(input: { model?: string | null; model_provider?: string | null }, connections: FullConnection[], chosen: ModelRef | null): ModelRef | null | 'unknown' {
  const model = input.model?.trim() ?? ''
  const provider = input.model_provider?.trim() ?? ''
  const hinted = hint(model, connections)
  if (provider !== '') {
    const connection = named(provider, connections)
    if (!connection) return 'unknown'
    const id = hinted && hinted.provider === connection.id ? hinted.id : model || connection.model
    return id === null ? 'unknown' : { provider: connection.id, id }
  }
  if (model === '') return null
  if (hinted) return hinted
  if (/^@[^:]+:/.test(model)) return 'unknown'
  if (chosen?.id === model) return chosen
  const owner = connections.find((c) => c.model === model || c.listed?.some((m) => m.id === model))
  if (owner) return { provider: owner.id, id: model }
  if (chosen) return { provider: chosen.provider, id: model }
  const ready = connections.filter((c) => c.state === 'ready' && c.kind !== 'scripted')
  return ready.length === 1 ? { provider: ready[0]!.id, id: model } : 'unknown'
}

function hint(model: string, connections: FullConnection[]): ModelRef | null {
  if (!model.startsWith('@')) return null
  const fitting = connections.filter((c) => model.startsWith(`@${c.id}:`) && model.length > c.id.length + 2).sort((a, b) => b.id.length - a.id.length)
  return fitting[0] ? { provider: fitting[0].id, id: model.slice(fitting[0].id.length + 2) } : null
}

function named(provider: string, connections: FullConnection[]): FullConnection | undefined {
  const id = knownId(provider)
  return connections.find((c) => c.id === provider) ?? connections.find((c) => c.id === `custom:${provider}` || c.id === id)
}
