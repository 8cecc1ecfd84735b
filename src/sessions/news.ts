import { en, t, type MessageKey } from '../../i18n'
import type { Attention, ListEntry } from '../../server/contract/listing'
import type { RunProblemCode } from '../../server/contract/problems'

/** What a row says beside its title: the second line, in words, and the state at the end of its name. A quiet chat says nothing. */
export interface RowNews {
  state: 'quiet' | 'needs' | 'working' | 'unread' | 'failed' | 'notHere'
  line?: string
  tone?: 'need' | 'bad'
  /** Spoken after the title. */
  spoken?: string
}

const PROBLEM_LINES: Partial<Record<RunProblemCode, MessageKey>> = {
  quota_exhausted: 'list.problem.quota_exhausted',
  rate_limit: 'list.problem.rate_limit',
  auth_mismatch: 'list.problem.auth_mismatch',
  model_not_found: 'list.problem.model_not_found',
  no_response: 'list.problem.no_response',
  provider_unreachable: 'list.problem.provider_unreachable',
  agent_silent: 'list.problem.agent_silent',
  no_model: 'list.problem.no_model',
  context_full: 'list.problem.context_full',
  server_restarted: 'list.problem.restart',
  server_stopped: 'list.problem.restart',
}

/** `attention`: why it asks for a look; what was seen is quiet. */
export function newsOf(entry: ListEntry, around: { offline: boolean; saved: boolean; attention: Attention | null }): RowNews {
  if (around.offline) {
    if (!around.saved) return { state: 'notHere', spoken: t('list.state.notHere') }
    if (entry.questions > 0) return { state: 'quiet', line: t('list.state.hadQuestion') }
    if (entry.state !== 'idle') return { state: 'quiet', line: t('list.state.wasWorking') }
    return { state: 'quiet' }
  }
  if (entry.state === 'asking' || entry.questions > 0) return { state: 'needs', line: entry.line?.text ?? t('session.waits'), tone: 'need', spoken: t('list.state.needs') }
  if (entry.state === 'stopping') return { state: 'working', line: t('session.stopping'), spoken: t('list.state.stopping') }
  if (entry.state === 'working') return { state: 'working', line: stepLine(entry), spoken: t('list.state.working') }
  if (around.attention === 'failed') {
    return { state: 'failed', line: problemLine(entry), tone: 'bad', spoken: entry.outcome === 'failed' ? t('list.state.failed') : t('list.state.interrupted') }
  }
  if (around.attention === 'unread') return { state: 'unread', line: entry.line?.kind === 'answer' ? entry.line.text : undefined, spoken: t('list.state.unread') }
  return { state: 'quiet', spoken: entry.pinned ? t('list.state.pinned') : undefined }
}

function stepLine(entry: ListEntry): string {
  const line = entry.line
  if (line?.kind !== 'step' || line.verb === 'think') return t('list.step.thinking')
  if (line.verb === 'answer') return t('list.step.answer')
  if (!line.text) return t('list.step.working')
  // A newer server may know verbs that this build does not.
  const key = `list.step.${line.verb ?? 'other'}` as const
  return t(key in en ? key : 'list.step.other', { target: line.text })
}

function problemLine(entry: ListEntry): string {
  const key = entry.problem && PROBLEM_LINES[entry.problem]
  if (key) return (t as (key: MessageKey) => string)(key)
  return entry.line?.kind === 'problem' && entry.line.text ? entry.line.text : t('list.problem.other')
}
