import { questionOf } from '../../server/contract/apply-questions'
import { comparePos } from '../../server/contract/ids'
import type { Row } from '../../server/contract/rows'
import { lastRun, type Run, type Transcript } from '../../server/contract/session'

export { LogChecker } from './log-checker'

/**
 * What must hold of any value of the fold between two appends (spec/log.md §7, law 4, and the shape that the types only describe). Answers what is wrong, in words;
 * an empty list means that nothing is. A partial transcript is held to what it can know.
 */
export function checkInvariants(value: Transcript): string[] {
  const wrong: string[] = []
  const whole = value.from === ''
  if (value.deleted) {
    if (value.session || value.rows.size || value.turns.size || value.order.length || value.queue.items.length) wrong.push('a deleted session still holds something')
    return wrong
  }
  if (value.order.length !== value.rows.size || new Set(value.order).size !== value.order.length) wrong.push('order and rows hold different ids')
  const rows = value.order.map((id) => value.rows.get(id)).filter((row) => row !== undefined)
  rows.forEach((row, i) => {
    if (i > 0 && comparePos(rows[i - 1]!.pos, row.pos) >= 0) wrong.push(`row ${row.id} is out of order`)
  })
  if (new Set(rows.map((row) => row.n)).size !== rows.length) wrong.push('two rows have one number')
  for (const row of rows) checkRow(value, row, wrong)
  const runs = [...value.turns.values()].sort((a, b) => comparePos(a.pos, b.pos)).flatMap((turn) => turn.runs)
  checkRuns(runs, rows, wrong)
  for (const turn of value.turns.values()) {
    if (whole && !rows.some((row) => row.turn === turn.id)) wrong.push(`turn ${turn.id} has no row`)
    turn.runs.forEach((run, i) => {
      if (run.turn !== turn.id || run.attempt !== i + 1) wrong.push(`run ${run.id} is misplaced`)
    })
  }
  if (new Set(value.queue.items.map(({ id }) => id)).size !== value.queue.items.length) wrong.push('a message waits twice')
  if (whole && value.session) {
    const counted = rows.filter((row) => row.kind === 'user' || row.kind === 'answer').length
    if (value.session.count !== counted) wrong.push(`the head counts ${value.session.count} messages, ${counted} stand`)
  }
  return wrong
}

function checkRow(value: Transcript, row: Row, wrong: string[]): void {
  if (row.pos < value.from) wrong.push(`row ${row.id} lies before the part`)
  const turn = value.turns.get(row.turn)
  if (!turn) {
    wrong.push(`row ${row.id} has no turn`)
    return
  }
  if (row.kind === 'user') {
    if (turn.row !== row.id || row.run !== undefined || row.state !== 'done') wrong.push(`user row ${row.id} is not its turn's`)
  } else if (row.run !== undefined && !turn.runs.some((run) => run.id === row.run)) wrong.push(`row ${row.id} is of a run that its turn does not have`)
  const question = questionOf(row)
  if (row.state !== 'live' && question?.state === 'open') wrong.push(`row ${row.id} is closed with an open question`)
  // A reopened row belongs to the new run; what it asked before, to the old one.
  if (question && (question.row !== row.id || !turn.runs.some((run) => run.id === question.run) || (question.state === 'open' && question.run !== row.run))) wrong.push(`question ${question.id} is misplaced`)
  if (row.kind === 'question' && [row.approval, row.clarify, row.secret].filter((asked) => asked).length > 1) wrong.push(`row ${row.id} asks two things`)
  if (row.kind === 'steer' && (row.state === 'live') !== (row.steer.state === 'accepted')) wrong.push(`steer ${row.steer.id} is ${row.steer.state} in a row that is ${row.state}`)
  if (row.kind === 'steer' && row.state !== 'live' && row.state !== (row.steer.state === 'delivered' ? 'done' : 'cancelled')) wrong.push(`steer ${row.steer.id} is ${row.steer.state} and ${row.state}`)
  if (row.state === 'live') {
    const run = lastRun(turn)
    if (!run || run.id !== row.run || run.state === 'settled') wrong.push(`row ${row.id} is live and its run is not`)
  }
}

/** Runs in the order of their turns: generations rise, and only the newest may be unsettled. */
function checkRuns(runs: Run[], rows: Row[], wrong: string[]): void {
  runs.forEach((run, i) => {
    if (i > 0 && run.generation <= runs[i - 1]!.generation) wrong.push(`run ${run.id} does not raise the generation`)
    if (i < runs.length - 1 && run.state !== 'settled') wrong.push(`run ${run.id} was left unsettled`)
    if ((run.state === 'settled') !== (run.outcome !== undefined)) wrong.push(`run ${run.id} has half an outcome`)
    if (run.state !== 'settled') return
    if (rows.some((row) => row.run === run.id && row.state === 'live')) wrong.push(`settled run ${run.id} has a live row`)
    if (rows.some((row) => questionOf(row)?.run === run.id && questionOf(row)!.state === 'open')) wrong.push(`settled run ${run.id} has an open question`)
  })
}
