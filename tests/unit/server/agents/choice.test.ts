import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeChoice } from '../../../../server/agents/choice'
import type { Agent } from '../../../../server/agents/port'
import { FakeTimers } from '../../../support/fake-timers'
import { Puppet } from '../../../support/puppet'
import { testProfile } from '../../../support/runs-rig'
import { StandIn } from '../../../support/stand-in'
import { freshFolder } from '../../../support/store-thread'

function choosing() {
  const folder = join(freshFolder('choice'), 'talaria')
  mkdirSync(folder)
  const hermes = new StandIn()
  const timers = new FakeTimers()
  const agents: Record<'hermes' | 'embedded', Agent> = { hermes, embedded: new Puppet() }
  return { hermes, timers, folder, choice: makeChoice({ folder, agents, timers }) }
}

it('each profile has its own agent of new chats, and two choices at once are both kept', async () => {
  const { choice, folder } = choosing()
  const [one, two, three] = ['default', 'amber', 'slate'].map(testProfile)
  await Promise.all([choice.choose(one!, 'embedded'), choice.choose(two!, 'hermes')])
  expect([await choice.of(one!), await choice.of(two!), await choice.of(three!)]).toEqual([{ kind: 'embedded', by: 'person' }, { kind: 'hermes', by: 'person' }, { kind: 'hermes', by: 'default' }])
  expect(JSON.parse(readFileSync(join(folder, 'agents.json'), 'utf8'))).toEqual({ version: 1, profiles: { default: 'embedded', amber: 'hermes' } })
})

it('an agent that was chosen stays the one also while it is not there: it is never replaced in silence', async () => {
  const { choice, hermes } = choosing()
  await choice.choose(testProfile(), 'hermes')
  hermes.missing = { fault: 'not_installed' }
  expect(await choice.of(testProfile())).toEqual({ kind: 'hermes', by: 'person' })
})

it('a look for Hermes Agent that never ends is given up after ten seconds', async () => {
  const { choice, hermes, timers } = choosing()
  hermes.probe = () => new Promise(() => undefined)
  let chosen: unknown
  void choice.of(testProfile()).then((answer) => (chosen = answer))
  for (let i = 0; chosen === undefined && i < 2_000; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    await timers.advance(100)
  }
  expect(chosen).toEqual({ kind: 'embedded', by: 'default' })
})
