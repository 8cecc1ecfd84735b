import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Event } from '../../server/contract/events'
import type { ImportBatch } from '../../server/contract/fold'
import { EMPTY_QUEUE } from '../../server/contract/queue'
import type { Row } from '../../server/contract/rows'
import type { Transcript, Turn } from '../../server/contract/session'

/** A chat as a server of that schema wrote it, and what the fold of its time made of it. Recorded once and never changed. */
export interface RecordedLog { name: string; schema: number; events: Event[]; expected: Transcript; /** What imports brought, by their `seq`. */ batchOf: (seq: number) => ImportBatch | undefined }

/** As it stands in a file: maps as lists; what a schema did not have yet is absent. */
interface Recording { schema: number; events: Event[]; imports?: [number, ImportBatch][]; expected: { head: Omit<Transcript, 'turns' | 'rows' | 'queue'> & Partial<Pick<Transcript, 'queue'>>; turns: Turn[]; rows: Row[] } }

export const CORPUS = join(dirname(fileURLToPath(import.meta.url)), '..', 'corpus')

/** Every recorded log of every schema. */
export function recordedLogs(): RecordedLog[] {
  return readdirSync(CORPUS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json')).sort().map((name) => {
    const { schema, events, imports, expected } = JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as Recording
    const turns = new Map(expected.turns.map((turn) => [turn.id, turn]))
    const rows = new Map(expected.rows.map((row) => [row.id, row]))
    const batches = new Map(imports)
    return { name: name.replace('.json', ''), schema, events, batchOf: (seq) => batches.get(seq), expected: { queue: EMPTY_QUEUE, ...expected.head, turns, rows } }
  })
}

/** The text of a recording: one event, turn and row a line, so that a change of it can be seen. */
export function recordingOf(schema: number, { events, imports }: { events: readonly Event[]; imports: ReadonlyMap<number, ImportBatch> }, { turns, rows, ...head }: Transcript): string {
  const lines = (list: Iterable<unknown>) => `[\n${[...list].map((one) => JSON.stringify(one)).join(',\n')}\n]`
  return `{"schema":${schema},\n"events":${lines(events)},\n${imports.size > 0 ? `"imports":${lines(imports)},\n` : ''}"expected":{"head":${JSON.stringify(head)},\n"turns":${lines(turns.values())},\n"rows":${lines(rows.values())}}}\n`
}
