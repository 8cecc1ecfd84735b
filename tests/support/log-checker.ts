import type { Event } from '../../server/contract/events'

/**
 * What must hold of a log, whatever its values (spec/log.md §3, §7; settlement.md §1.6): one terminal outcome of a run and nothing of it afterwards, each question answered
 * at most once and only while it is open, each steer ended once, unless it was in the
 * draft and a re-attached run has it again, each waiting message gone once and never back, what is given back to the queue standing in it, what is
 * taken from it admitted in the same append. Takes the appends of one session in order; O(what they say). Throws in words.
 */
export class LogChecker {
  #turns = new Set<string>()
  /** The run that has not settled, with what it still owes. */
  #run: { id: string; questions: Set<string>; steers: Set<string>; rows: Set<string> } | null = null
  #over = new Set<string>()
  #generation = 0
  #questions = new Map<string, 'open' | 'answered' | 'retired'>()
  #words = new Set<string>()
  /** By the row that shows it. */
  #steers = new Map<string, { steer: string; state: 'accepted' | 'delivered' | 'draft' | 'queue' }>()
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
        for (const row of event.reopens ?? []) {
          const word = this.#steers.get(row)
          if (!word) continue
          if (event.cause !== 'reattached' || word.state !== 'draft') throw new Error(`steer ${word.steer} was ${word.state} and is with a run that was ${event.cause} again`)
          word.state = 'accepted'
          this.#run.steers.add(word.steer)
        }
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
        this.#once(this.#words, event.steer, type)
        if (this.#steers.has(event.row)) throw new Error(`${type} twice for row ${event.row}`)
        this.#steers.set(event.row, { steer: event.steer, state: 'accepted' })
        run!.steers.add(event.steer)
        return
      }
      case 'steer.delivered':
      case 'steer.returned': {
        const word = this.#steers.get(event.row)
        if (!run!.steers.delete(event.steer) || word?.steer !== event.steer) throw new Error(`steer ${event.steer} ended without having been accepted, or twice`)
        word.state = type === 'steer.delivered' ? 'delivered' : event.to
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
