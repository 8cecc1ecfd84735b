import { For, Show } from 'solid-js'
import { t } from '../../i18n'
import { changedParts, type DiffLine } from './steps'

/** Changes with + and − signs, grounds and marks; what was added and removed is spoken (design/LANGUAGE.md §8, changes). */
export function Diff(props: { lines: readonly DiffLine[] }) {
  const parts = () => changedParts(props.lines)
  return (
    <div class="tx-code tx-diff">
      <pre tabindex="0" role="group" aria-label={t('step.output')}>
        <For each={props.lines}>
          {(line, i) => (
            <span class="tx-line" classList={{ 'tx-add': line.kind === 'added', 'tx-del': line.kind === 'removed', 'tx-hunk': line.kind === 'hunk' }}>
              <Show when={line.kind === 'added' || line.kind === 'removed'}>
                <span class="sr">{line.kind === 'added' ? t('step.added') : t('step.removed')}</span>
              </Show>
              <Marked text={line.text} part={parts().get(i())} />
            </span>
          )}
        </For>
      </pre>
    </div>
  )
}

function Marked(props: { text: string; part: { from: number; to: number } | undefined }) {
  return (
    <Show when={props.part} fallback={props.text}>
      {(part) => (
        <>
          {props.text.slice(0, part().from)}
          <em>{props.text.slice(part().from, part().to)}</em>
          {props.text.slice(part().to)}
        </>
      )}
    </Show>
  )
}
