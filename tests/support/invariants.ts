import { questionOf } from '../../server/contract/apply-questions'
import type { Event } from '../../server/contract/events'
import { comparePos } from '../../server/contract/ids'
import type { Row } from '../../server/contract/rows'
import { lastRun, type Run, type Transcript } from '../../server/contract/session'

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

/**
 * What must hold of a log, whatever its values (spec/log.md §3, §7; settlement.md §1.6): one terminal outcome of a run and nothing of it afterwards, each question answered
 * at most once and only while it is open, each steer ended once, each waiting message gone once and never back, what is given back to the queue standing in it, what is
 * taken from it admitted in the same append. Takes the appends of one session in order; O(what they say). Throws in words.
 */
export class LogChecker {
  #turns = new Set<string>()
  /** The run that has not settled, with what it still owes. */
  #run: { id: string; questions: Set<string>; steers: Set<string>; rows: Set<string> } | null = null
  #over = new Set<string>()
  #generation = 0
  #questions = new Map<string, 'open' | 'answered' | 'retired'>()
  #steers = new Set<string>()
  #items = new Map<string, 'waits' | 'gone'>()
  #rows = new Set<string>()

  take(events: readonly Event[]): void {
    for (const event of events) this.#one(event, events)
  }

  #one(event: Event, append: readonly Event[]): void {
    const { type } = event
    if ('run' in event && event.run !== undefined && type !== 'run.started') {
      if (this.#over.has(event.run)) throw new Error(`${type} of a run that has settled`)
      if (this.#run?.id !== event.run) throw new Error(`${type} of a run that is not the live one`)
    }
    const run = this.#run
    switch (type) {
      case 'turn.admitted': return this.#once(this.#turns, event.turn, type)
      case 'run.started': {
        if (run || this.#over.has(event.run) || event.generation <= this.#generation) throw new Error('a run started beside another, again, or with an old generation')
        this.#generation = event.generation
        this.#run = { id: event.run, questions: new Set(), steers: new Set(), rows: new Set(event.reopens) }
        return
      }
      case 'row.opened': {
        this.#once(this.#rows, event.row, type)
        if (event.state === undefined && event.kind !== 'notice') run?.rows.add(event.row)
        return
      }
      case 'row.closed': {
        if (!run?.rows.delete(event.row)) throw new Error(`row ${event.row} closed twice`)
        return
      }
      case 'approval.raised': return this.#raised(event.approval)
      case 'clarify.raised': return this.#raised(event.clarify)
      case 'secret.raised': return this.#raised(event.secret)
      case 'approval.decided': return this.#ended(event.approval, 'answered')
      case 'clarify.answered': return this.#ended(event.clarify, 'answered')
      case 'secret.answered': return this.#ended(event.secret, 'answered')
      case 'approval.retired': return this.#ended(event.approval, 'retired')
      case 'clarify.retired': return this.#ended(event.clarify, 'retired')
      case 'secret.retired': return this.#ended(event.secret, 'retired')
      case 'steer.accepted': {
        this.#once(this.#steers, event.steer, type)
        run!.steers.add(event.steer)
        return
      }
      case 'steer.delivered':
      case 'steer.returned': {
        if (!run!.steers.delete(event.steer)) throw new Error(`steer ${event.steer} ended without having been accepted, or twice`)
        if (type === 'steer.returned' && event.to === 'queue' && !append.some((other) => other.type === 'queue.added' && other.item === event.item)) throw new Error('a steer went back to a queue where it is not')
        return
      }
      case 'queue.added': {
        if (this.#items.has(event.item)) throw new Error(`message ${event.item} waits again`)
        this.#items.set(event.item, 'waits')
        return
      }
      case 'queue.changed':
      case 'queue.moved': return this.#waits(event.item, type)
      case 'queue.combined': {
        for (const item of event.items) this.#waits(item, type)
        for (const item of event.items.slice(1)) this.#items.set(item, 'gone')
        return
      }
      case 'queue.removed': {
        for (const item of event.items) this.#leaves(item, type)
        return
      }
      case 'queue.taken': {
        this.#leaves(event.item, type)
        const sent = append.filter((other) => (other.type === 'turn.admitted' || other.type === 'run.started') && other.turn === event.turn)
        if (sent.length !== 2) throw new Error('a message was taken and not sent in the same append')
        return
      }
      case 'run.settled': {
        const owed = run!.questions.size + run!.steers.size + run!.rows.size
        if (owed > 0) throw new Error(`run ${event.run} settled with ${owed} rows, questions or steers open`)
        this.#over.add(event.run)
        this.#run = null
        return
      }
      default: return
    }
  }

  #once(seen: Set<string>, id: string, type: string): void {
    if (seen.has(id)) throw new Error(`${type} twice for ${id}`)
    seen.add(id)
  }

  #raised(id: string): void {
    if (this.#questions.has(id)) throw new Error(`question ${id} raised twice`)
    this.#questions.set(id, 'open')
    this.#run!.questions.add(id)
  }

  #ended(id: string, how: 'answered' | 'retired'): void {
    const held = this.#questions.get(id)
    if (held !== 'open' && !(held === 'answered' && how === 'retired')) throw new Error(`question ${id} is ${held ?? 'unknown'} and was ${how}`)
    this.#questions.set(id, how)
    this.#run!.questions.delete(id)
  }

  #waits(item: string, type: string): void {
    if (this.#items.get(item) !== 'waits') throw new Error(`${type} of message ${item}, which does not wait`)
  }

  #leaves(item: string, type: string): void {
    this.#waits(item, type)
    this.#items.set(item, 'gone')
  }
}
