import { t } from '../../i18n'

/** The place of a transcript that is being read. */
export function TranscriptSkeleton() {
  return (
    <div class="scroll" aria-busy="true" aria-label={t('session.loading')}>
      <div class="sk-log" aria-hidden="true">
        <div class="sk-you">
          <span class="sk" />
        </div>
        <span class="sk" />
        <span class="sk" />
        <span class="sk" />
      </div>
    </div>
  )
}
