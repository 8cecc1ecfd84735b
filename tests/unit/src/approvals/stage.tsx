import { createSignal } from 'solid-js'
import { render } from 'solid-js/web'
import type { Choice } from '../../../../server/contract/approvals'
import type { Row } from '../../../../server/contract/rows'
import { Questions } from '../../../../src/approvals/cards'
import type { Typed } from '../../../../src/approvals/port'
import type { OpenApproval, OpenClarify, OpenQuestion, OpenSecret } from '../../../../src/sync/reactive'

/** Questions as a test asks them; `row` is that of the question unless said otherwise. */
export const ask = (id: string, part: Partial<OpenApproval> = {}): OpenQuestion => ({
  kind: 'approval',
  asked: {
    id, row: `row_${id}`, run: 'run_1', raisedAt: 1, state: 'open', action: `Do ${id}`, tool: 'shell', command: 'make all',
    choices: [{ id: 'once', kind: 'once' }, { id: 'deny', kind: 'deny' }], ...part,
  },
})
export const wonder = (id: string, part: Partial<OpenClarify> = {}): OpenQuestion => ({
  kind: 'clarify',
  asked: { id, row: `row_${id}`, run: 'run_1', raisedAt: 1, state: 'open', question: `Which ${id}?`, choices: ['Gross', 'Net'], free: true, ...part },
})
export const need = (id: string, part: Partial<OpenSecret> = {}): OpenQuestion => ({
  kind: 'secret',
  asked: { id, row: `row_${id}`, run: 'run_1', raisedAt: 1, state: 'open', kind: 'secret', prompt: `The key of ${id}`, env: 'API_KEY', ...part },
})

/** A row on which such a question stands, as it is later. */
export const rowWith = (kind: OpenQuestion['kind'], asked: object): Row =>
  ({ id: 'row', n: 1, turn: 'trn', run: 'run_1', pos: '1', seq: 1, at: 1, state: 'done', text: '', kind: 'question', [kind]: asked }) as unknown as Row

export interface CardStage {
  host: HTMLElement
  /** Answers that went to the server: id, and choice, words or value. */
  sent: [string, string | null][]
  said: string[]
  shouted: string[]
  told: string[]
  rescued: string[]
  kept: () => Typed | null
  gone: () => number
  /** The last card went from under somebody who typed a secret. */
  blind: () => boolean
  /** What the page was told of somebody in the field of a secret. */
  typing: boolean[]
  allowAll: () => number
  setQuestions: (questions: OpenQuestion[]) => void
  setOnline: (online: boolean) => void
  setStopping: (stopping: boolean) => void
  row: (id: string, row: Row) => void
  pass: (ms: number) => void
  /** How the next answers end; they wait for ever until then. */
  answerWith: (next: () => Promise<void>) => void
  button: (name: RegExp) => HTMLButtonElement
  key: (key: string, init?: KeyboardEventInit, target?: EventTarget) => void
  type: (text: string) => void
  leave: () => void
}

/** The card on a page of its own, with a server that does what the test says. */
export function cards(first: OpenQuestion[], options: { quiet?: boolean; phone?: boolean; fingers?: boolean; kept?: Typed } = {}): CardStage {
  let now = 1000
  let gone = 0
  let blind = false
  let allowed = 0
  let kept: Typed | null = options.kept ?? null
  let answer: () => Promise<void> = () => new Promise(() => undefined)
  const [questions, setQuestions] = createSignal(first)
  const [online, setOnline] = createSignal(true)
  const [stopping, setStopping] = createSignal(false)
  const rows = new Map<string, Row>()
  const log = { sent: [] as [string, string | null][], said: [] as string[], shouted: [] as string[], told: [] as string[], rescued: [] as string[], typing: [] as boolean[] }
  const host = document.body.appendChild(document.createElement('div'))
  const take = (id: string, what: string | null) => {
    log.sent.push([id, what])
    return answer()
  }
  const dispose = render(
    () => (
      <Questions
        questions={questions()}
        online={online()}
        phone={options.phone ?? false}
        fingers={options.fingers ?? false}
        stopping={stopping()}
        quiet={options.quiet ?? false}
        decide={(request: OpenApproval, choice: Choice) => take(request.id, choice.id)}
        reply={(question, text) => take(question.id, text)}
        give={(secret, value) => take(secret.id, value)}
        rowOf={(id) => rows.get(id)}
        rescue={(text) => log.rescued.push(text)}
        kept={{
          load: () => Promise.resolve(kept),
          keep: (typed) => {
            kept = typed
          },
        }}
        prose={(into, text) => {
          into.textContent = text
        }}
        onAllowAll={() => allowed++}
        announce={(text) => log.said.push(text)}
        alarm={(text) => log.shouted.push(text)}
        tell={(text) => log.told.push(text)}
        onGone={(secret) => {
          gone++
          blind = secret
        }}
        onSecret={(typing) => log.typing.push(typing)}
        now={() => now}
        skew={0}
      />
    ),
    host,
  )
  const button = (name: RegExp) => [...document.body.querySelectorAll('button')].find((one) => name.test(one.textContent ?? '') || name.test(one.getAttribute('aria-label') ?? ''))!
  return {
    host, ...log, button, setQuestions, setOnline, setStopping,
    kept: () => kept,
    gone: () => gone,
    blind: () => blind,
    allowAll: () => allowed,
    row: (id, row) => void rows.set(id, row),
    pass: (ms) => {
      now += ms
    },
    answerWith: (next) => {
      answer = next
    },
    key: (key, init = {}, target = document.body) => void target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init })),
    type: (text) => {
      const field = host.querySelector<HTMLTextAreaElement | HTMLInputElement>('textarea, input')!
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
    },
    leave: () => {
      dispose()
      document.body.replaceChildren()
    },
  }
}

export const settle = () => new Promise((resolve) => setTimeout(resolve))
