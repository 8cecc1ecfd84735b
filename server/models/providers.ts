import type { Preset } from '../contract/models'

/** A provider as Hermes Agent knows it (spec/hermes-home.md §7), with what we need to call it. */
export interface Known {
  id: string
  name: string
  kind: 'openai' | 'anthropic'
  base: string
  keys: string[]
  /** A variable that moves its address. */
  baseEnv?: string
  /** Its own server: a key is not needed. */
  keyless?: true
  /** Why it cannot be used with a key alone. */
  refuses?: { state: 'sign_in' | 'unsupported'; why: string }
}

const key = (id: string, name: string, base: string, keys: string[], more: Partial<Known> = {}): Known => ({ id, name, kind: 'openai', base, keys, ...more })
const signIn = (id: string, name: string, why = `${name} needs a sign-in that cannot be used here yet.`): Known => key(id, name, '', [], { refuses: { state: 'sign_in', why } })
const unsupported = (id: string, name: string): Known => key(id, name, '', [], { refuses: { state: 'unsupported', why: `${name} speaks an interface that cannot be used here yet.` } })

/** In the order in which the Agent looks for a key when its provider is `auto`. */
export const KNOWN: Known[] = [
  key('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY'], { baseEnv: 'OPENROUTER_BASE_URL' }),
  key('openai-api', 'OpenAI', 'https://api.openai.com/v1', ['OPENAI_API_KEY'], { baseEnv: 'OPENAI_BASE_URL' }),
  key('anthropic', 'Anthropic', 'https://api.anthropic.com/v1', ['ANTHROPIC_API_KEY'], { kind: 'anthropic', baseEnv: 'ANTHROPIC_BASE_URL' }),
  key('fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1', ['FIREWORKS_API_KEY']),
  key('novita', 'Novita', 'https://api.novita.ai/openai/v1', ['NOVITA_API_KEY']),
  key('lmstudio', 'LM Studio', 'http://127.0.0.1:1234/v1', ['LM_API_KEY', 'LMSTUDIO_API_KEY'], { baseEnv: 'LM_BASE_URL', keyless: true }),
  key('alibaba', 'Alibaba Cloud', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1', ['DASHSCOPE_API_KEY'], { baseEnv: 'DASHSCOPE_BASE_URL' }),
  key('alibaba-coding-plan', 'Alibaba Coding Plan', 'https://coding-intl.dashscope.aliyuncs.com/v1', ['ALIBABA_CODING_PLAN_API_KEY']),
  key('xiaomi', 'Xiaomi MiMo', 'https://api.xiaomimimo.com/v1', ['XIAOMI_API_KEY'], { baseEnv: 'XIAOMI_BASE_URL' }),
  key('nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1', ['NVIDIA_API_KEY'], { baseEnv: 'NVIDIA_BASE_URL' }),
  key('huggingface', 'Hugging Face', 'https://router.huggingface.co/v1', ['HF_TOKEN'], { baseEnv: 'HF_BASE_URL' }),
  key('gemini', 'Google Gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', ['GOOGLE_API_KEY', 'GEMINI_API_KEY'], { baseEnv: 'GEMINI_BASE_URL' }),
  key('deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', ['DEEPSEEK_API_KEY'], { baseEnv: 'DEEPSEEK_BASE_URL' }),
  key('xai', 'xAI', 'https://api.x.ai/v1', ['XAI_API_KEY'], { baseEnv: 'XAI_BASE_URL' }),
  key('zai', 'Z.AI', 'https://api.z.ai/api/paas/v4', ['GLM_API_KEY', 'ZAI_API_KEY', 'Z_AI_API_KEY'], { baseEnv: 'GLM_BASE_URL' }),
  key('kimi-coding', 'Kimi', 'https://api.moonshot.ai/v1', ['KIMI_API_KEY', 'KIMI_CODING_API_KEY'], { baseEnv: 'KIMI_BASE_URL' }),
  key('kimi-coding-cn', 'Kimi (China)', 'https://api.moonshot.cn/v1', ['KIMI_CN_API_KEY']),
  key('stepfun', 'StepFun', 'https://api.stepfun.ai/v1', ['STEPFUN_API_KEY'], { baseEnv: 'STEPFUN_BASE_URL' }),
  key('minimax', 'MiniMax', 'https://api.minimax.io/v1', ['MINIMAX_API_KEY'], { baseEnv: 'MINIMAX_BASE_URL' }),
  key('minimax-cn', 'MiniMax (China)', 'https://api.minimaxi.com/v1', ['MINIMAX_CN_API_KEY'], { baseEnv: 'MINIMAX_CN_BASE_URL' }),
  key('ollama-cloud', 'Ollama Cloud', 'https://ollama.com/v1', ['OLLAMA_API_KEY'], { baseEnv: 'OLLAMA_BASE_URL' }),
  key('arcee', 'Arcee', 'https://api.arcee.ai/api/v1', ['ARCEEAI_API_KEY'], { baseEnv: 'ARCEE_BASE_URL' }),
  key('gmi', 'GMI Cloud', 'https://api.gmi-serving.com/v1', ['GMI_API_KEY'], { baseEnv: 'GMI_BASE_URL' }),
  key('kilocode', 'Kilo Code', 'https://api.kilo.ai/api/gateway', ['KILOCODE_API_KEY'], { baseEnv: 'KILOCODE_BASE_URL' }),
  key('opencode-zen', 'OpenCode Zen', 'https://opencode.ai/zen/v1', ['OPENCODE_ZEN_API_KEY', 'OPENCODE_API_KEY'], { baseEnv: 'OPENCODE_ZEN_BASE_URL' }),
  key('opencode-go', 'OpenCode Go', 'https://opencode.ai/zen/go/v1', ['OPENCODE_GO_API_KEY', 'OPENCODE_API_KEY'], { baseEnv: 'OPENCODE_GO_BASE_URL' }),
  key('deepinfra', 'DeepInfra', 'https://api.deepinfra.com/v1/openai', ['DEEPINFRA_API_KEY']),
  key('upstage', 'Upstage', 'https://api.upstage.ai/v1', ['UPSTAGE_API_KEY']),
  key('tencent-tokenhub', 'Tencent TokenHub', '', ['TOKENHUB_API_KEY'], { baseEnv: 'TOKENHUB_BASE_URL' }),
  key('azure-foundry', 'Azure AI Foundry', '', ['AZURE_FOUNDRY_API_KEY'], { baseEnv: 'AZURE_FOUNDRY_BASE_URL' }),
  signIn('nous', 'Nous Portal'),
  signIn('openai-codex', 'OpenAI Codex'),
  signIn('xai-oauth', 'xAI account'),
  signIn('qwen-oauth', 'Qwen account'),
  signIn('minimax-oauth', 'MiniMax account'),
  signIn('copilot', 'GitHub Copilot'),
  signIn('copilot-acp', 'GitHub Copilot'),
  signIn('vertex', 'Google Vertex', 'Google Vertex needs a sign-in to its cloud that cannot be used here yet.'),
  signIn('bedrock', 'Amazon Bedrock', 'Amazon Bedrock needs a sign-in to its cloud that cannot be used here yet.'),
  unsupported('moa', 'Mixture of agents'),
]

/** Other names under which the Agent's configuration may call them. */
const ALIASES: Record<string, string> = {
  openai: 'openai-api', claude: 'anthropic', google: 'gemini', 'google-gemini': 'gemini', grok: 'xai', 'x-ai': 'xai', glm: 'zai', 'z-ai': 'zai', zhipu: 'zai', kimi: 'kimi-coding',
  moonshot: 'kimi-coding', qwen: 'alibaba', dashscope: 'alibaba', hf: 'huggingface', 'lm-studio': 'lmstudio', lm_studio: 'lmstudio', codex: 'openai-codex', 'nous-portal': 'nous',
  'github-copilot': 'copilot', opencode: 'opencode-zen', zen: 'opencode-zen', kilo: 'kilocode', mimo: 'xiaomi', 'nvidia-nim': 'nvidia', nim: 'nvidia', aws: 'bedrock',
  local: 'custom', ollama: 'custom', vllm: 'custom', llamacpp: 'custom', 'llama.cpp': 'custom', 'llama-cpp': 'custom',
}

/** `custom` or the id of a known provider; null for neither. */
export function knownId(name: string): string | null {
  const id = name.trim().toLowerCase()
  const found = ALIASES[id] ?? ALIASES[id.replaceAll('_', '-')] ?? id.replaceAll('_', '-')
  return found === 'custom' || KNOWN.some((known) => known.id === found) ? found : null
}

export function known(id: string): Known | undefined {
  return KNOWN.find((each) => each.id === id)
}

/** A provider whose own host this address is: its key may go there. */
export function knownByHost(baseUrl: string): Known | undefined {
  const host = hostOf(baseUrl)
  return host === '' ? undefined : KNOWN.find((each) => each.base !== '' && !each.keyless && hostOf(each.base) === host)
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}

/** The forms of the page, in their order. */
export const PRESETS: Preset[] = [
  preset('openrouter'), preset('anthropic'), preset('openai-api'), preset('gemini'), preset('deepseek'),
  { id: 'ollama', display_name: 'Ollama', kind: 'openai', base_url: 'http://127.0.0.1:11434/v1', key_env: [], key: 'optional', editable: true },
  { id: 'lmstudio', display_name: 'LM Studio', kind: 'openai', base_url: 'http://127.0.0.1:1234/v1', key_env: ['LM_API_KEY'], key: 'optional', editable: true },
  { id: 'custom', display_name: 'Other', kind: 'openai', base_url: '', key_env: [], key: 'optional', editable: true },
]

function preset(id: string): Preset {
  const { name, kind, base, keys } = known(id)!
  return { id, display_name: name, kind, base_url: base, key_env: keys, key: 'needed', editable: false }
}
