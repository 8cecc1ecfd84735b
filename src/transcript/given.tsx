import { createSignal, For, Show } from 'solid-js'
import { t } from '../../i18n/files'
import { bytes } from '../../i18n/format'
import { isRaster, type Attachment } from '../../server/contract/attachments'
import { fileAddress } from '../backend/upload'
import '../styles/files.css'
import { Icon } from '../ui/icon'

/** The files that came with a message: pictures as small ones that open, everything else as a chip that saves it. The server says how each may be used. */
export function GivenFiles(props: { session: string; files: readonly Attachment[] }) {
  return (
    <ul class="tx-files" aria-label={t('files.given')}>
      <For each={props.files}>
        {(file) => (
          <li>
            <Given file={file} address={fileAddress(props.session, file.id)} />
          </li>
        )}
      </For>
    </ul>
  )
}

function Given(props: { file: Attachment; address: string }) {
  /** Offline, or not on the server any more: its name stands in for it. */
  const [broken, setBroken] = createSignal(false)
  return (
    <Show
      when={isRaster(props.file.mime) && !broken()}
      fallback={
        <a class="att" href={props.address} download={props.file.name} aria-label={t('files.save', { name: props.file.name, size: bytes(props.file.size) })}>
          <span class="thumb">
            <Icon name="file-text" size="s" />
          </span>
          <span class="att-of">
            <span dir="auto" title={props.file.name}>
              {props.file.name}
            </span>
            <span class="meta num">{bytes(props.file.size)}</span>
          </span>
        </a>
      }
    >
      <a class="tx-pic" href={props.address} target="_blank" rel="noopener" title={props.file.name} aria-label={t('files.open', { name: props.file.name })}>
        <img src={props.address} alt="" loading="lazy" onError={() => setBroken(true)} />
      </a>
    </Show>
  )
}
