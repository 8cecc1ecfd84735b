import type { Usage } from '../../contract/session'

/** The turn's numbers over its steps; what no step told stays absent. `contextUsed` is what the last step held. */
export function addUsage(sum: Usage, step: Usage | undefined, contextSize: number | undefined): Usage {
  const out: Usage = { ...sum }
  for (const name of ['input', 'output', 'cached', 'reasoning', 'cost'] as const) {
    const value = step?.[name]
    if (value !== undefined) out[name] = (sum[name] ?? 0) + value
  }
  if (step?.input !== undefined) out.contextUsed = step.input + (step.output ?? 0)
  if (contextSize !== undefined) out.contextSize = contextSize
  return out
}
