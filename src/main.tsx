import './trusted'
import './styles/index.css'
import { render } from 'solid-js/web'
import { App } from './app'
import { connectPage } from './backend/page'
import { watchUpdates } from './backend/updates'
import { makeDrafts } from './composer/drafts'
import { createDevice } from './device'
import { TranscriptView } from './transcript/view'
import { scripts } from './trusted'

const { backend, sync, drafts } = connectPage()
const later = (ms: number, run: () => void) => {
  const id = setTimeout(run, ms)
  return () => clearTimeout(id)
}
const mintKey = () => crypto.randomUUID?.() ?? `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`

render(
  () => (
    <App
      parts={{
        sync,
        backend,
        drafts: makeDrafts({
          shelf: drafts,
          quick: localStorage,
          now: Date.now,
          mintKey,
          later,
        }),
        quick: localStorage,
        mintKey,
        host: location.hostname,
        Transcript: TranscriptView,
        device: createDevice(window, watchUpdates(scripts, sync)),
        later,
      }}
    />
  ),
  document.getElementById('app')!,
)
