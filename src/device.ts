import { createSignal } from 'solid-js'
import type { Device } from './app-parts'
import type { Updates } from './backend/updates'

/** What the browser tells before it offers to install; not in the DOM's own types. */
interface InstallOffer extends Event { prompt(): Promise<unknown> }

/** The browser's own answers about this device, as signals; `updates` knows about new builds. */
export function createDevice(page: Window, updates: Updates): Device {
  const [update, setUpdate] = createSignal(updates.state())
  updates.onChange(setUpdate)
  const standalone = page.matchMedia('(display-mode: standalone)').matches || (page.navigator as { standalone?: boolean }).standalone === true
  const [install, setInstall] = createSignal<'ready' | 'done' | 'no'>(standalone ? 'done' : 'no')
  const workers = page.navigator.serviceWorker as ServiceWorkerContainer | undefined
  const [offline, setOffline] = createSignal<'ready' | 'starting' | 'none'>(workers ? (workers.controller ? 'ready' : 'starting') : 'none')
  let offer: InstallOffer | undefined
  page.addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault()
    offer = event as InstallOffer
    setInstall('ready')
  })
  page.addEventListener('appinstalled', () => setInstall('done'))
  workers?.addEventListener('controllerchange', () => setOffline('ready'))
  return {
    install,
    offline,
    update: () => (update() === 'none' ? null : () => updates.apply()),
    askInstall: () => {
      void offer?.prompt().catch(() => undefined)
      offer = undefined
      if (install() === 'ready') setInstall('no')
    },
    used: async () => {
      const estimate = await page.navigator.storage?.estimate?.().catch(() => undefined)
      return estimate?.usage ?? null
    },
    copy: async (text) => {
      try {
        await page.navigator.clipboard.writeText(text)
        return true
      } catch {
        return false
      }
    },
  }
}
