import { expect } from 'vitest'
import type { Approval } from '../../../../server/contract/approvals'
import type { Clarify, Secret } from '../../../../server/contract/questions'
import { questionOf } from '../../../../server/contract/apply-questions'
import type { Row } from '../../../../server/contract/rows'
import { checkInvariants } from '../../../support/invariants'
import { settle } from '../../../support/fake-timers'
import { Puppet } from '../../../support/puppet'
import { runsRig } from '../../../support/runs-rig'
import type { RunsRigOptions } from '../../../support/runs-rig'

/** A chat whose turn is in the hands of the test, and what a person sees and may do in it. */
export async function talking(options: RunsRigOptions = {}, puppet = new Puppet()) {
  const rig = runsRig({ agents: { scripted: puppet }, ...options })
  const session = await rig.chat()
  const started = await rig.send(session, 'Hello')
  await settle()
  const { turn } = puppet
  const rows = async (): Promise<Exclude<Row, { kind: 'user' }>[]> => {
    const value = await rig.transcript(session)
    expect(checkInvariants(value)).toEqual([])
    return value.order.map((id) => value.rows.get(id)!).filter((row) => row.kind !== 'user')
  }
  const asked = async (): Promise<(Approval | Clarify | Secret)[]> => (await rows()).flatMap((row) => questionOf(row) ?? [])
  return {
    ...rig, puppet, turn, session, started, rows, asked,
    emit: turn.emit,
    /** Several things said at once, and everything that needs no time. */
    say: async (...events: Parameters<typeof turn.emit>[0][]): Promise<void> => {
      for (const event of events) turn.emit(event)
      await settle()
    },
    /** The questions of one kind, as last shown. */
    approvals: async () => (await asked()).filter((each): each is Approval => 'action' in each),
    clarifies: async () => (await asked()).filter((each): each is Clarify => 'free' in each),
    secrets: async () => (await asked()).filter((each): each is Secret => 'prompt' in each),
    decide: (choice: string, approval?: string) => rig.runs.decide(rig.profile, { session, choice, ...(approval === undefined ? {} : { approval }) }),
    reply: (text: string, clarify?: string) => rig.runs.answer(rig.profile, { session, text, ...(clarify === undefined ? {} : { clarify }) }),
    give: (secret: string, value: string | null) => rig.runs.give(rig.profile, { session, secret, value }),
    /** Types of the events of each commit, from the n-th event on. */
    commits: async (from = 0): Promise<string[][]> => {
      const seen = new Map<number, string[]>()
      for (const { event, rev } of rig.model.disk.sessions.get(session)!.log.slice(from)) seen.set(rev, [...(seen.get(rev) ?? []), event.type])
      return [...seen.values()]
    },
    said: async (): Promise<number> => (await rig.events(session)).length,
  }
}
