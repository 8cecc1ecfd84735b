import { expose } from 'comlink'
import { colour } from './colours'

/** What the page may ask of its worker: work that would keep the page from drawing. */
const api = { colour }
export type WorkerApi = typeof api

expose(api)
