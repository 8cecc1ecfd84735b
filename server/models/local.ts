import type { LocalServer } from '../contract/models'
import type { Caller } from './http'
import { listModels } from './list'

/** A model server that may run on this machine. */
export interface LocalCandidate { id: string; name: string; port: number }

/** Usual ports (issue 3, item 5). */
export const LOCAL_CANDIDATES: LocalCandidate[] = [
  { id: 'ollama', name: 'Ollama', port: 11434 },
  { id: 'lmstudio', name: 'LM Studio', port: 1234 },
  { id: 'vllm', name: 'vLLM', port: 8000 },
  { id: 'llamacpp', name: 'llama.cpp', port: 8080 },
  { id: 'jan', name: 'Jan', port: 1337 },
  { id: 'sglang', name: 'SGLang', port: 30000 },
]

/** ms that one server has to answer, and for which what was found is believed. */
const DEADLINE = 800
const KEPT = 10_000

/**
 * Other ports, as `TALARIA_LOCAL_MODELS` gives them: a list such as `ollama=11435,llamacpp=9000`, or `off` (or nothing) for none. Absent: the usual
 * ones. What cannot be read is left out.
 */
export function localCandidates(setting: string | undefined): LocalCandidate[] {
  if (setting === undefined) return LOCAL_CANDIDATES
  return setting.split(',').flatMap((part) => {
    const [, id, port] = /^\s*([a-z0-9-]+)\s*=\s*(\d{1,5})\s*$/i.exec(part) ?? []
    if (!id || !port || Number(port) < 1 || Number(port) > 65535) return []
    const usual = LOCAL_CANDIDATES.find((each) => each.id === id.toLowerCase())
    return [{ id: id.toLowerCase(), name: usual?.name ?? id, port: Number(port) }]
  })
}

/** Finds model servers on loopback; all are asked at once, and what answers like a model server is one. Asked again after some seconds only. */
export function makeLocal(call: Caller, candidates: LocalCandidate[], now: () => number, wait = DEADLINE): () => Promise<LocalServer[]> {
  let last: { at: number; found: Promise<LocalServer[]> } | null = null
  const look = async (candidate: LocalCandidate): Promise<LocalServer[]> => {
    const base_url = `http://127.0.0.1:${candidate.port}/v1`
    const listed = await listModels(call, { kind: 'openai', base_url, key: null }, wait)
    return listed.ok ? [{ id: candidate.id, display_name: candidate.name, base_url, models: listed.models.map(({ id, label, context_size }) => ({ id, label, ...(context_size !== undefined && { context_size }) })) }] : []
  }
  return () => {
    if (!last || now() - last.at > KEPT) last = { at: now(), found: Promise.all(candidates.map(look)).then((each) => each.flat()) }
    return last.found
  }
}
