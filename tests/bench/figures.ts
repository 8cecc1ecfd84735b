/** The value below which the given part of the values lies; NaN of none. */
export function quantile(values: number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? NaN
}

export const median = (values: number[]): number => quantile(values, 0.5)

export const round = (value: number): number => Math.round(value * 100) / 100
