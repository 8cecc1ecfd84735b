import type { Row } from '../server/contract/rows'
import { makeAnswers, makeKeptAnswer } from './app-answers'
import type { AppParts } from './app-parts'
import { Questions } from './approvals/cards'
import type { ChatFacts, OpenQuestion } from './sync/reactive'
import { makeMarkdown } from './transcript/markdown/stream'
import { markdownWords } from './transcript/words'
import { useNotices } from './ui/notices'

export interface AskingProps {
  parts: AppParts
  /** The chat that asks; another chat is another card. */
  facts: ChatFacts
  questions: OpenQuestion[]
  online: boolean
  phone: boolean
  fingers: boolean
  quiet: boolean
  skew: number
  rescue: (text: string) => void
  onAllowAll: () => void
  onFold: (folded: boolean) => void
  onSecret: (typing: boolean) => void
  onGone: (secret: boolean) => void
}

/** What the open chat asks, joined with the server, the transcript's prose and the message box. Loaded when the first question comes. */
export function Asking(props: AskingProps) {
  const notices = useNotices()
  // One card for each chat.
  // eslint-disable-next-line solid/reactivity
  const { facts, parts } = props
  const { chat } = facts
  const answers = makeAnswers(parts.backend, chat.session)
  const kept = makeKeptAnswer(parts.drafts, chat.session)
  const rowOf = (id: string): Row | undefined => chat.value().rows.get(id)
  const prose = (into: HTMLElement, text: string) => {
    const markdown = makeMarkdown(into, { document, words: markdownWords, onCode: () => undefined })
    markdown.push(text)
    markdown.finish()
  }
  return (
    <Questions
      questions={props.questions}
      online={props.online}
      phone={props.phone}
      fingers={props.fingers}
      stopping={facts.run()?.state === 'stopping'}
      quiet={props.quiet}
      decide={answers.decide}
      reply={answers.reply}
      give={answers.give}
      rowOf={rowOf}
      rescue={(text) => props.rescue(text)}
      kept={kept}
      prose={prose}
      onAllowAll={() => props.onAllowAll()}
      announce={notices.announce}
      alarm={notices.alarm}
      tell={(text) => void notices.toast({ kind: 'plain', icon: 'hand', text })}
      onGone={(secret) => props.onGone(secret)}
      onFold={(folded) => props.onFold(folded)}
      onSecret={(typing) => props.onSecret(typing)}
      now={Date.now}
      skew={props.skew}
    />
  )
}
