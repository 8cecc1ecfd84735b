import { describe, expect, it } from 'vitest'
import { visible } from '../../../../server/models/connection'
import { hermesConnections } from '../../../../server/models/hermes'
import { parseConfig } from '../../../../server/profiles/config-file'

const KEY = 'sk-test-0123456789'
const read = (config: string | null, env: Record<string, string> = {}, auth: Record<string, unknown> | null = null) => hermesConnections({ config: parseConfig(config, env), env, auth })

describe('what Hermes Agent’s configuration connects', () => {
  it('nothing is configured', () => {
    expect(read(null)).toEqual({ connections: [], model: { state: 'none' } })
    expect(read('display: {skin: mono}\n')).toMatchObject({ connections: [], model: { state: 'none' } })
  })

  it('a local server of one’s own', () => {
    const { connections, model } = read('model:\n  default: qwen3\n  provider: custom\n  base_url: http://localhost:11434/v1/\n  context_length: 8000\n  max_tokens: 500\n')
    expect(model).toEqual({ state: 'ready', connection: 'custom', display_name: 'localhost:11434', model: 'qwen3' })
    expect(connections).toMatchObject([{ id: 'custom', kind: 'openai', source: 'hermes', base_url: 'http://localhost:11434/v1', model: 'qwen3', has_key: false, contextSize: 8000, maxTokens: 500, removable: false }])
  })

  it.each(['ollama', 'vllm', 'llamacpp', 'local', 'Custom'])('the alias %s is a server of one’s own', (provider) => {
    expect(read(`model: {default: m, provider: ${provider}, base_url: "http://127.0.0.1:8000/v1"}\n`).model).toMatchObject({ state: 'ready', connection: 'custom' })
  })

  it('aliases of names in the model section', () => {
    expect(read('model: {name: m, provider: custom, api_base: "http://127.0.0.1:1/v1"}\n').model).toMatchObject({ state: 'ready', model: 'm' })
    expect(read('model: {model: m, base_url: "http://127.0.0.1:1/v1"}\n').model).toMatchObject({ state: 'ready', connection: 'custom', model: 'm' })
  })

  it('a known provider with its key in .env', () => {
    const { connections, model } = read('model: {default: anthropic/claude-x, provider: openrouter}\n', { OPENROUTER_API_KEY: KEY })
    expect(model).toMatchObject({ state: 'ready', connection: 'openrouter', model: 'anthropic/claude-x' })
    expect(connections[0]).toMatchObject({ base_url: 'https://openrouter.ai/api/v1', key: KEY, key_source: 'env_file' })
  })

  it('its own prefix is taken off the model, others are not', () => {
    expect(read('model: {default: anthropic/claude-x, provider: anthropic}\n', { ANTHROPIC_API_KEY: KEY })).toMatchObject({ model: { model: 'claude-x' }, connections: [{ kind: 'anthropic', base_url: 'https://api.anthropic.com/v1' }] })
    expect(read('model: {default: meta/llama, provider: deepseek}\n', { DEEPSEEK_API_KEY: KEY }).model).toMatchObject({ model: 'meta/llama' })
  })

  it('the text form, with the provider found by its key', () => {
    expect(read('model: vendor/name\n', { OPENROUTER_API_KEY: KEY }).model).toMatchObject({ state: 'ready', connection: 'openrouter', model: 'vendor/name' })
    expect(read('model: {default: m, provider: auto}\n', { DEEPSEEK_API_KEY: KEY }).model).toMatchObject({ connection: 'deepseek' })
    expect(read('model: m\n').model).toMatchObject({ state: 'needs_key', model: 'm', hint: expect.any(String) })
    expect(read('model: m\n', {}, { active_provider: 'nous' }).model).toMatchObject({ state: 'sign_in', connection: 'nous' })
  })

  it('a missing key is named', () => {
    expect(read('model: {default: m, provider: openrouter}\n').model).toMatchObject({ state: 'needs_key', hint: expect.stringContaining('OPENROUTER_API_KEY') })
    expect(read('model: {default: m, provider: openrouter}\n', { OPENROUTER_API_KEY: '***' }).model).toMatchObject({ state: 'needs_key' })
  })

  it.each(['nous', 'openai-codex', 'xai-oauth', 'qwen-oauth', 'minimax-oauth', 'copilot', 'copilot-acp', 'bedrock', 'vertex'])('%s needs a sign-in, and says so', (provider) => {
    expect(read(`model: {default: m, provider: ${provider}}\n`).model).toMatchObject({ state: 'sign_in', connection: provider, model: 'm', hint: expect.stringMatching(/sign-in/) })
  })

  it('a subscription of Anthropic is a sign-in, too', () => {
    expect(read('model: {default: m, provider: anthropic}\n', { CLAUDE_CODE_OAUTH_TOKEN: KEY }).model).toMatchObject({ state: 'sign_in' })
    expect(read('model: {default: m, provider: anthropic}\n', { ANTHROPIC_API_KEY: 'sk-ant-oat01-0123456789' }).model).toMatchObject({ state: 'sign_in' })
  })

  it('providers and the older list are both read; a named one answers for the model', () => {
    const { connections, model } = read(
      `model: {default: big, provider: My Lab}
providers:
  my lab: {base_url: "http://10.0.0.5:8000/v1", key_env: LAB_KEY, models: {big: {context_length: 9000}, small: {}}, extra_headers: {X-Team: blue}}
  off: {base_url: "http://10.0.0.9/v1", enabled: false}
custom_providers:
  - {name: Second, base_url: "http://10.0.0.6:8000", model: other, models: [a, {id: b, label: Bee}]}
  - {base_url: "http://10.0.0.7"}
`,
      { LAB_KEY: KEY, CUSTOM_SECOND_API_KEY: `${KEY}2` },
    )
    expect(model).toMatchObject({ state: 'ready', connection: 'custom:my-lab', model: 'big' })
    expect(connections).toMatchObject([
      { id: 'custom:my-lab', display_name: 'my lab', key: KEY, model: 'big', listed: [{ id: 'big', context_size: 9000 }, { id: 'small' }], headers: { 'x-team': 'blue' } },
      { id: 'custom:second', base_url: 'http://10.0.0.6:8000/v1', key: `${KEY}2`, model: 'other', listed: [{ id: 'a', label: 'a' }, { id: 'b', label: 'Bee' }] },
    ])
  })

  it('two servers with one name are ambiguous, the same one twice is not; others keep working', () => {
    const config = (second: string): string => `custom_providers:\n  - {name: Lab One, base_url: "http://10.0.0.5/v1", api_key: ${KEY}}\n  - {name: lab-one, base_url: "${second}"}\n  - {name: fine, base_url: "http://10.0.0.8/v1"}\n`
    expect(read(config('http://10.0.0.6/v1')).connections).toMatchObject([{ id: 'custom:lab-one', state: 'ambiguous', key: null, has_key: false }, { id: 'custom:fine', state: 'ready' }])
    expect(read(config('http://10.0.0.5/v1')).connections).toMatchObject([{ id: 'custom:lab-one', state: 'ready', key: KEY }, { id: 'custom:fine' }])
  })

  it('keys of the Agent’s own store are used, dead and signed-in ones are not', () => {
    const auth = { credential_pool: { openrouter: [{ auth_type: 'oauth', access_token: 'no' }, { auth_type: 'api_key', access_token: 'dead-key-000', last_status: 'dead', priority: 0 }, { auth_type: 'api_key', access_token: KEY, priority: 1 }] } }
    expect(read('model: {default: m, provider: openrouter}\n', {}, auth).connections[0]).toMatchObject({ key: KEY, key_source: 'auth_json', state: 'ready' })
  })

  it('every other provider with a key is there as well, once', () => {
    const ids = read('model: {default: m, provider: openrouter}\n', { OPENROUTER_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: KEY }).connections.map((c) => c.id)
    expect(ids).toEqual(['openrouter', 'anthropic', 'gemini'])
  })

  it('a key goes only to the host of its provider', () => {
    const evil = read('model: {default: m, provider: custom, base_url: "https://evil.example/v1"}\n', { OPENROUTER_API_KEY: KEY, OPENAI_API_KEY: KEY }).connections[0]
    expect(evil).toMatchObject({ id: 'custom', key: null })
    expect(read('model: {default: m, provider: custom, base_url: "https://openrouter.ai/api/v1"}\n', { OPENROUTER_API_KEY: KEY }).connections[0]).toMatchObject({ id: 'custom', key: KEY })
  })

  it('a template whose variable is not set is no key', () => {
    expect(read('model: {default: m, provider: custom, base_url: "http://127.0.0.1:1/v1", api_key: "${NOT_SET}"}\n').connections[0]).toMatchObject({ key: null, state: 'ready' })
  })

  it('a file that does not parse is said, and keys of .env still connect', () => {
    expect(read('model: [\n', { DEEPSEEK_API_KEY: KEY })).toMatchObject({ model: { state: 'unreadable', hint: expect.stringMatching(/config\.yaml/) }, connections: [{ id: 'deepseek' }] })
  })

  it('an unknown provider and an unknown interface are said', () => {
    expect(read('model: {default: m, provider: what-is-this}\n').model).toMatchObject({ state: 'unsupported', hint: expect.stringContaining('what-is-this') })
    expect(read('model: {default: m, provider: custom, base_url: "http://127.0.0.1:1/v1", api_mode: codex_app_server}\n').model).toMatchObject({ state: 'unsupported' })
  })

  it('values of strange kinds do no harm', () => {
    expect(read('model: [1, 2]\nproviders: 7\ncustom_providers: {a: b}\n').model).toEqual({ state: 'none' })
    expect(read('model: {default: 7, provider: [x], base_url: {}}\ncustom_providers: [null, 3, {name: "%%%", base_url: 5}]\n').model.state).toBe('needs_key')
  })

  it('what clients see holds no key', () => {
    const all = read('model: {default: m, provider: custom, base_url: "http://127.0.0.1:1/v1", api_key: sk-test-0123456789}\n', { OPENROUTER_API_KEY: KEY }).connections
    expect(all.every((c) => c.key === KEY)).toBe(true)
    expect(JSON.stringify(all.map(visible))).not.toContain(KEY)
  })
})
