import { For, Show } from 'solid-js'
import { t } from '../../i18n'
import type { DiffLine } from './steps'

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

/** For each line the part that changed against its partner, when a run of removed lines is followed by as many added ones. */
export function changedParts(lines: readonly DiffLine[]): Map<number, { from: number; to: number }> {
  const parts = new Map<number, { from: number; to: number }>()
  for (let i = 0; i < lines.length; ) {
    let removed = i
    while (lines[removed]?.kind === 'removed') removed++
    let added = removed
    while (lines[added]?.kind === 'added') added++
    const n = removed - i
    if (n > 0 && added - removed === n) {
      for (let k = 0; k < n; k++) {
        const a = lines[i + k]!.text
        const b = lines[removed + k]!.text
        let start = 0
        while (start < a.length && start < b.length && a[start] === b[start]) start++
        let end = 0
        while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
        // A line that shares nothing with its partner has no part worth marking.
        if (start + end === 0) continue
        if (a.length - end > start) parts.set(i + k, { from: start, to: a.length - end })
        if (b.length - end > start) parts.set(removed + k, { from: start, to: b.length - end })
      }
    }
    i = Math.max(added, i + 1)
  }
  return parts
}
