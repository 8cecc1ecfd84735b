import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Refusal } from '../../../../server/contract/problems'
import { makeKept } from '../../../../server/models/kept'
import { localCandidates, LOCAL_CANDIDATES, type LocalCandidate } from '../../../../server/models/local'
import { makeModels } from '../../../../server/models/models'
import type { ConnectionInput } from '../../../../server/models/port'
import type { ProfileContext } from '../../../../server/profiles/context'
import { closedPort } from '../../../agent/embedded-rig'
import { type FakeModel, startFakeModel } from '../../../support/fake-model'

const KEY = 'sk-page-0123456789abcdef'

describe('connections and models', () => {
  let folder: string
  let fake: FakeModel
  let profile: ProfileContext
  let now: number
  const opened: { end(): Promise<void> }[] = []
  const file = (): string => join(folder, 'state', 'connections.json')

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'talaria-models-')))
    mkdirSync(join(folder, 'home'))
    profile = { name: 'default', home: join(folder, 'home'), scope: join(folder, 'home'), env: {}, isLaunch: true }
    fake = await startFakeModel()
    now = 1_000_000
  })
  afterEach(async () => {
    for (const models of opened.splice(0)) await models.end()
    await fake.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const make = (local: LocalCandidate[] = []) => {
    const models = makeModels({ kept: makeKept(join(folder, 'state')), local, localWait: 15_000, now: () => now })
    opened.push(models)
    return models
  }
  const configured = (): void => {
    writeFileSync(join(profile.home, 'config.yaml'), `model: {default: fake-model, provider: custom, base_url: "${fake.base}"}\n`)
  }
  const codeOf = async (work: Promise<unknown>): Promise<string> => work.then(() => 'no refusal', (error: unknown) => (error instanceof Refusal ? error.problem.code : String(error)))

  it('with nothing configured there is no default, and the script is offered', async () => {
    const status = await make().status(profile)
    expect(status).toMatchObject({ completed: false, default: null, default_source: null, reason: expect.any(String), hermes: { state: 'none' }, local: [] })
    expect(status.connections).toMatchObject([{ id: 'scripted', source: 'scripted' }])
    expect(status.presets.map((p) => p.id)).toEqual(expect.arrayContaining(['openrouter', 'anthropic', 'openai-api', 'ollama', 'custom']))
  })

  it('the Agent’s configuration is the default, on the built-in agent', async () => {
    configured()
    expect(await make().status(profile)).toMatchObject({ completed: true, default: { provider: 'custom', id: 'fake-model' }, default_source: 'hermes', hermes: { state: 'ready', connection: 'custom', model: 'fake-model' } })
  })

  it('a server found on this machine is offered, and chosen only by the person', async () => {
    const models = make([{ id: 'ollama', name: 'Ollama', port: fake.port }, { id: 'vllm', name: 'vLLM', port: await closedPort() }])
    const status = await models.status(profile)
    expect(status).toMatchObject({ completed: false, default: null, local: [{ id: 'ollama', display_name: 'Ollama', base_url: `http://127.0.0.1:${fake.port}/v1`, models: [{ id: 'fake-model', context_size: 32_000 }, { id: 'fake-other' }] }] })
    expect(fake.requests[0]!.headers).not.toHaveProperty('authorization')
    expect(await models.save(profile, { provider: 'ollama', model: 'fake-other' })).toMatchObject({ ok: true, connection: { id: 'ollama', source: 'page' }, default: { provider: 'ollama', id: 'fake-other' } })
    expect(await models.endpoint(profile, { provider: 'ollama', id: 'fake-other' })).toMatchObject({ state: 'ready', baseUrl: fake.base, key: null })
    // It stays chosen when it is not running.
    expect(await make().status(profile)).toMatchObject({ completed: true, default: { provider: 'ollama', id: 'fake-other' } })
  })

  it('what answers something else on a usual port is not a model server', async () => {
    fake.models = { hello: 'world' }
    expect((await make([{ id: 'vllm', name: 'vLLM', port: fake.port }]).status(profile)).local).toEqual([])
  })

  it('a found server that is configured already is not found twice', async () => {
    configured()
    const status = await make([{ id: 'ollama', name: 'Ollama', port: fake.port }]).status(profile)
    expect(status.local).toEqual([])
    expect(status.connections.map((c) => c.id)).toEqual(['custom', 'scripted'])
  })

  it('found servers are asked again only after a while', async () => {
    const models = make([{ id: 'ollama', name: 'Ollama', port: fake.port }])
    await models.status(profile)
    await models.status(profile)
    expect(fake.requests).toHaveLength(1)
    now += 60_000
    await models.status(profile)
    expect(fake.requests).toHaveLength(2)
  })

  it('usual ports can be replaced or switched off', () => {
    expect(localCandidates(undefined)).toBe(LOCAL_CANDIDATES)
    expect(localCandidates('off')).toEqual([])
    expect(localCandidates('')).toEqual([])
    expect(localCandidates('ollama=1, mine=65535 ,bad=70000,x')).toEqual([{ id: 'ollama', name: 'Ollama', port: 1 }, { id: 'mine', name: 'mine', port: 65535 }])
  })

  it('a connection of the page is kept privately, beats the configuration, and shows no key', async () => {
    configured()
    const models = make()
    const saved = await models.save(profile, { provider: 'custom:Work Server', base_url: `${fake.base}/chat/completions`, api_key: KEY, model: 'big' })
    expect(saved).toMatchObject({ connection: { id: 'custom:work-server', base_url: fake.base, has_key: true, key_source: 'page', removable: true }, default: { provider: 'custom:work-server', id: 'big' } })
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder, 'state'))).toEqual(['connections.json'])
    expect(existsSync(join(profile.home, '.env'))).toBe(false)
    const again = make()
    for (const answer of [saved, await again.status(profile), await again.connections(profile), await again.offers(profile)]) expect(JSON.stringify(answer)).not.toContain(KEY)
    expect(await again.status(profile)).toMatchObject({ default: { provider: 'custom:work-server', id: 'big' }, default_source: 'page' })
    expect(await again.endpoint(profile, { provider: 'custom:work-server', id: 'big' })).toMatchObject({ state: 'ready', key: KEY })
  })

  it('an absent key keeps the stored one for the same server only', async () => {
    const models = make()
    const provider = 'custom:lab'
    await models.save(profile, { provider, base_url: fake.base, api_key: KEY, model: 'a' })
    await models.save(profile, { provider, base_url: fake.base, model: 'b' })
    expect(await models.endpoint(profile, { provider, id: 'b' })).toMatchObject({ key: KEY })
    await models.save(profile, { provider, base_url: 'http://127.0.0.1:9/v1', model: 'b' })
    expect(await models.endpoint(profile, { provider, id: 'b' })).toMatchObject({ key: null })
  })

  it('servers of one’s own are named after their address, beside each other and beside the Agent’s', async () => {
    configured()
    const models = make()
    const one = await models.save(profile, { provider: 'custom', base_url: 'http://127.0.0.1:4201', api_key: KEY, model: 'a' })
    expect(one.connection).toMatchObject({ id: 'custom:127.0.0.1-4201', display_name: '127.0.0.1:4201', base_url: 'http://127.0.0.1:4201/v1' })
    await models.save(profile, { base_url: 'http://127.0.0.1:4202/v1', model: 'b' })
    await models.save(profile, { provider: 'custom', base_url: 'http://127.0.0.1:4201/v1', model: 'c' })
    expect((await models.connections(profile)).providers.map((c) => [c.id, c.source, c.model, c.has_key])).toEqual([
      ['custom:127.0.0.1-4202', 'page', 'b', false], ['custom:127.0.0.1-4201', 'page', 'c', true], ['custom', 'hermes', 'fake-model', false], ['scripted', 'scripted', 'scripted', false],
    ])
  })

  it('the stored key goes with no check of another address', async () => {
    const models = make()
    const other = await startFakeModel()
    await models.save(profile, { provider: 'custom:lab', base_url: fake.base, api_key: KEY, model: 'a' })
    await models.check(profile, { provider: 'custom:lab', base_url: other.base })
    expect(other.requests[0]!.headers).not.toHaveProperty('authorization')
    await models.check(profile, { provider: 'custom:lab' })
    expect(fake.requests.at(-1)!.headers.authorization).toBe(`Bearer ${KEY}`)
    await other.close()
  })

  it('choosing what the configuration connects moves only the default', async () => {
    configured()
    const models = make()
    await models.save(profile, { provider: 'custom', model: 'fake-other' })
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ version: 1, profiles: { default: { default: { provider: 'custom', id: 'fake-other' }, connections: [] } } })
    expect(await models.save(profile, { provider: 'scripted', model: 'scripted' })).toMatchObject({ default: { provider: 'scripted', id: 'scripted' } })
    expect(await models.status(profile)).toMatchObject({ completed: true, default_source: 'scripted' })
  })

  it('removing takes the key and the default with it; what was not given here stays', async () => {
    configured()
    const models = make()
    await models.save(profile, { provider: 'openrouter', api_key: KEY, model: 'x/y' })
    await models.remove(profile, 'openrouter')
    expect(readFileSync(file(), 'utf8')).not.toContain(KEY)
    expect(await models.status(profile)).toMatchObject({ default: { provider: 'custom' }, default_source: 'hermes' })
    expect(await codeOf(models.remove(profile, 'custom'))).toBe('connection_invalid')
    expect(await codeOf(models.remove(profile, 'nothing'))).toBe('not_found')
  })

  it.each<[ConnectionInput, string]>([
    [{ provider: 'custom' }, 'no address'],
    [{ provider: 'custom', base_url: 'ftp://x/v1' }, 'a foreign scheme'],
    [{ provider: 'custom', base_url: 'http://user:pass@x/v1' }, 'credentials in the address'],
    [{ provider: 'custom', base_url: 'localhost:8000' }, 'no scheme'],
    [{ provider: 'openrouter', api_key: 'short' }, 'a short key'],
    [{ provider: 'openrouter' }, 'no key where one is needed'],
    [{ provider: 'openrouter', api_key: 'sk-with\nnewline-0123' }, 'a key in two lines'],
    [{ provider: 'nous', api_key: KEY }, 'a provider that needs a sign-in'],
    [{ provider: 'custom:%%%', base_url: 'http://x/v1' }, 'a name that is none'],
  ])('%j is refused: %s', async (input) => {
    expect(await codeOf(make().save(profile, { ...input, model: 'm' }))).toBe('connection_invalid')
    expect(existsSync(file())).toBe(false)
  })

  it('an address that is none is refused also for what is connected already, and nothing changes', async () => {
    configured()
    const models = make()
    await models.save(profile, { provider: 'openrouter', api_key: KEY, model: 'x/y' })
    const before = readFileSync(file(), 'utf8')
    for (const provider of ['openrouter', 'custom', 'scripted'])
      for (const base_url of ['127.0.0.1:8000', 'localhost', '/v1', 'http://']) expect([provider, base_url, await codeOf(models.save(profile, { provider, base_url, model: 'm' }))]).toEqual([provider, base_url, 'connection_invalid'])
    expect(readFileSync(file(), 'utf8')).toBe(before)
  })

  it('a file that cannot be read is said, and never written over', async () => {
    mkdirSync(join(folder, 'state'))
    writeFileSync(file(), '{"version":1,')
    const models = make()
    expect(await models.status(profile)).toMatchObject({ completed: false, reason: expect.stringMatching(/cannot be read/) })
    expect(await codeOf(models.save(profile, { provider: 'openrouter', api_key: KEY, model: 'm' }))).toBe('connection_invalid')
    expect(readFileSync(file(), 'utf8')).toBe('{"version":1,')
  })

  it('a file that others may read is made private', async () => {
    mkdirSync(join(folder, 'state'))
    writeFileSync(file(), '{"version":1,"profiles":{}}')
    chmodSync(file(), 0o644)
    await make().status(profile)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
  })

  it('what a killed process left half written is taken away, with the keys in it', async () => {
    await make().save(profile, { provider: 'openrouter', api_key: KEY, model: 'x/y' })
    const [left, other] = [`${file()}.1234.tmp`, join(file(), '..', 'other.tmp')]
    for (const path of [left, other]) writeFileSync(path, KEY)
    expect(await make().status(profile)).toMatchObject({ completed: true })
    expect([existsSync(left), existsSync(other), existsSync(file())]).toEqual([false, true, true])
  })

  it('changes at one time are all kept', async () => {
    const models = make()
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => models.save(profile, { provider: `custom:${name}`, base_url: `http://127.0.0.1:${4200 + name.charCodeAt(0)}/v1`, model: 'm' })))
    expect((await make().connections(profile)).providers.map((c) => c.id).sort()).toEqual(['custom:a', 'custom:b', 'custom:c', 'custom:d', 'scripted'])
  })

  it('profiles do not see each other’s connections', async () => {
    const models = make()
    await models.save(profile, { provider: 'openrouter', api_key: KEY, model: 'm' })
    expect((await models.status({ ...profile, name: 'other' })).connections.map((c) => c.id)).toEqual(['scripted'])
  })

  it('offers are live lists, the default first; long ones are shortened; failures are said', async () => {
    configured()
    fake.models = { data: [...Array.from({ length: 40 }, (_, i) => ({ id: `m${i}` })), { id: 'text-embedding-3' }, { id: 'm1' }] }
    const models = make()
    await models.save(profile, { provider: 'custom:gone', base_url: `http://127.0.0.1:${await closedPort()}/v1`, model: 'x' })
    await models.chooseDefault(profile, { provider: 'custom', id: 'm33' })
    const { groups, active_provider, default_model, configured_model_badges } = await models.offers(profile)
    expect({ active_provider, default_model }).toEqual({ active_provider: 'custom', default_model: 'm33' })
    expect(Object.keys(configured_model_badges)).toEqual(['m33', '@custom:m33'])
    expect(groups.map((g) => g.provider_id)).toEqual(['custom', 'custom:gone', 'scripted'])
    expect(groups[0]!.models.map((m) => m.id).slice(0, 3)).toEqual(['m33', 'fake-model', 'm0'])
    expect([groups[0]!.models.length, groups[0]!.extra_models.length]).toEqual([15, 26])
    expect(groups[1]).toMatchObject({ models: [{ id: 'x' }], models_endpoint_error: { kind: 'network', words: expect.stringMatching(/ECONNREFUSED/) } })
    const asked = fake.requests.length
    await models.offers(profile)
    expect(fake.requests).toHaveLength(asked)
  })

  it('a check tells what the server says', async () => {
    const models = make()
    expect(await models.check(profile, { provider: 'custom', base_url: fake.base })).toMatchObject({ ok: true, listed: true, base_url: fake.base, models: [{ id: 'fake-model' }, { id: 'fake-other' }] })
    expect(await models.check(profile, { provider: 'custom', base_url: `http://127.0.0.1:${await closedPort()}` })).toMatchObject({ ok: false, error: { kind: 'network', words: expect.stringMatching(/ECONNREFUSED/) } })
    expect(await models.check(profile, { provider: 'openrouter' })).toMatchObject({ ok: false, error: { kind: 'key' } })
  })

  it('a reference is found from what clients send', async () => {
    configured()
    const models = make()
    await models.save(profile, { provider: 'custom:a', base_url: 'http://127.0.0.1:4201/v1', model: 'one' })
    await models.save(profile, { provider: 'custom:a:b', base_url: 'http://127.0.0.1:4202/v1', model: 'two' })
    await models.chooseDefault(profile, { provider: 'custom', id: 'fake-model' })
    const resolve = (model?: string | null, model_provider?: string | null) => models.resolve(profile, { model, model_provider })
    expect(await resolve()).toBeNull()
    expect(await resolve('', '')).toBeNull()
    expect(await resolve('vendor/any:tag')).toEqual({ provider: 'custom', id: 'vendor/any:tag' })
    expect(await resolve('one')).toEqual({ provider: 'custom:a', id: 'one' })
    expect(await resolve('@custom:a:x:free')).toEqual({ provider: 'custom:a', id: 'x:free' })
    expect(await resolve('@custom:a-b:x')).toEqual({ provider: 'custom:a-b', id: 'x' })
    expect(await resolve('@custom:a:x', 'custom:a')).toEqual({ provider: 'custom:a', id: 'x' })
    expect(await resolve(null, 'custom:a')).toEqual({ provider: 'custom:a', id: 'one' })
    expect(await resolve('scripted', 'scripted')).toEqual({ provider: 'scripted', id: 'scripted' })
    expect(await codeOf(resolve('x', 'nobody'))).toBe('model_unknown')
    expect(await codeOf(resolve('@nobody:x'))).toBe('model_unknown')
  })

  it('an endpoint that is not to be had says why', async () => {
    writeFileSync(join(profile.home, 'config.yaml'), 'model: {default: m, provider: openai-codex}\n')
    const models = make()
    expect(await models.endpoint(profile, { provider: 'openai-codex', id: 'm' })).toMatchObject({ state: 'missing', code: 'sign_in', words: expect.stringMatching(/OpenAI Codex/) })
    expect(await models.endpoint(profile, { provider: 'removed', id: 'm' })).toMatchObject({ state: 'missing', code: 'model_unknown' })
    expect(await models.endpoint(profile, { provider: 'scripted', id: 'scripted' })).toMatchObject({ state: 'missing', code: 'scripted' })
    expect(await codeOf(models.chooseDefault(profile, { provider: 'openai-codex', id: 'm' }))).toBe('model_unknown')
    expect(await models.status(profile)).toMatchObject({ completed: false, hermes: { state: 'sign_in' }, reason: expect.stringMatching(/sign-in/) })
  })
})
