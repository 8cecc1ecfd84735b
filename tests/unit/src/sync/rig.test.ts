// @vitest-environment node
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { makeRig, rest } from './rig'

test('a request that hangs hears of its end, also when memory was collected meanwhile', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const rig = await makeRig()
  rig.server.network = 'silent'
  const { backend } = rig.page()
  const given = Array.from({ length: 20 }, () => new AbortController())
  const ends: unknown[] = []
  for (const { signal } of given) backend.ask('GET /api/session/changes', { session_id: 'ses_a', limit: 1 }, { fresh: true, signal }).catch((error: unknown) => ends.push(error))
  await rest()
  collect()
  await rest()
  collect()
  for (const controller of given) controller.abort()
  await rest()
  expect(ends.length).toBe(given.length)
})
