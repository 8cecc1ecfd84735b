import { wrap, type Remote } from 'comlink'
import { scripts } from '../trusted'
import type { WorkerApi } from '../worker/worker'
// oxlint-disable-next-line import/default -- the bundler makes this module
import address from '../worker/worker?worker&url'
import type { Colourer } from './highlights'

let remote: Promise<Remote<WorkerApi>> | null = null

/** One worker for the page, begun with the first block that is to be coloured. */
function worker(): Promise<Remote<WorkerApi>> {
  remote ??= new Promise((resolve, reject) => {
    const thread = new Worker(scripts.createScriptURL(address) as unknown as string, { type: 'module' })
    thread.addEventListener('error', () => reject(new Error('The worker could not be loaded')))
    resolve(wrap<WorkerApi>(thread))
  })
  return remote
}

/** Colours by the worker. After a failure it is not tried again. */
export const workerColourer: Colourer = async (text, language) => (await worker()).colour(text, language)
