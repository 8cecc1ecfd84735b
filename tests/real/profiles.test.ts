import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from '../wire/api'
import { startModel } from './model-server'
import type { ModelServer } from './model-server'
import { answerOf, Stage, writeHome } from './stage'

const NAMES = ['alpha', 'beta'] as const
const OTHER = { alpha: 'beta', beta: 'alpha' } as const
const KEYS = { alpha: 'key-of-alpha-9f31', beta: 'key-of-beta-77c0' } as const
const TURNS = 20
const as = (name: string) => ({ Cookie: `hermes_profile=${name}` })

/** Two profiles at once, each with its own model server and key, while `active_profile` names the other one (spec/agents.md §4, law 10). */
describe('two profiles of the real Hermes Agent at once', () => {
  let stage: Stage
  const models = {} as Record<(typeof NAMES)[number], ModelServer>
  const chats = {} as Record<(typeof NAMES)[number], string>
  beforeAll(async () => {
    stage = await Stage.set((folder, model) => writeHome(join(folder, 'home'), model.base))
    for (const name of NAMES) {
      models[name] = await startModel(stage.folder, `model-${name}`)
      writeHome(join(stage.folder, 'home/profiles', name), models[name].base, { model: `model-of-${name}`, key: KEYS[name] })
    }
  })
  afterAll(async () => {
    for (const name of NAMES) await models[name]?.end()
    await stage?.strike()
  })

  it('twenty turns each way reach their own endpoint with their own key', async () => {
    for (const name of NAMES) {
      const made = await call(stage.server, 'POST /api/session/new', {}, as(name))
      expect(made.status).toBe(200)
      chats[name] = made.body.session.session_id
    }
    for (let turn = 0; turn < TURNS; turn++) {
      await Promise.all(NAMES.map(async (name) => {
        writeFileSync(join(stage.folder, 'home/active_profile'), `${OTHER[name]}\n`)
        const said = `@@text answer ${turn} for ${name}`
        const started = await call(stage.server, 'POST /api/chat/start', { session_id: chats[name], message: said }, as(name))
        expect(started.status, JSON.stringify(started.problem)).toBe(200)
        await stage.over(chats[name], started.body.stream_id, as(name))
      }))
    }
    for (const name of NAMES) {
      const told = models[name].requests().map(({ body }) => JSON.stringify(body))
      for (let turn = 0; turn < TURNS; turn++) expect(told.some((text) => text.includes(`answer ${turn} for ${name}`)), `${name} ${turn}`).toBe(true)
      expect(told.some((text) => text.includes(`for ${OTHER[name]}`))).toBe(false)
      expect(new Set(models[name].requests().map(({ model, key }) => `${model} ${key}`))).toEqual(new Set([`model-of-${name} Bearer ${KEYS[name]}`]))
      expect(answerOf(await stage.changes(chats[name], as(name)))).toContain(`answer ${TURNS - 1} for ${name}`)
    }
    expect(stage.model.requests()).toEqual([])
  }, 180_000)

  it('no key or prompt of one is in the other: environment, process list, logs', () => {
    const programs = stage.processes().filter(({ command }) => /\bserve\b/.test(command))
    expect(programs).toHaveLength(2)
    for (const name of NAMES) {
      const own = programs.find(({ command }) => command.includes(`-p ${name}`))!
      const seen = [readFileSync(`/proc/${own.pid}/environ`, 'latin1'), readFileSync(`/proc/${own.pid}/cmdline`, 'latin1'), ...texts(join(stage.folder, 'home/profiles', name, 'logs'))].join('\n')
      expect(seen).not.toContain(KEYS[OTHER[name]])
      expect(seen).not.toContain(`for ${OTHER[name]}`)
      for (const { command } of stage.processes()) expect(command).not.toContain(KEYS[name])
    }
    const ours = texts(join(stage.folder, 'state')).join('\n') + stage.server.said()
    for (const name of NAMES) expect(ours).not.toContain(KEYS[name])
  })
})

function texts(folder: string): string[] {
  let names: string[] = []
  try {
    names = readdirSync(folder, { recursive: true }) as string[]
  } catch {
    return []
  }
  return names.flatMap((name) => {
    try {
      return [readFileSync(join(folder, name), 'latin1')]
    } catch {
      return []
    }
  })
}
