/** Programs that the benches run inside the page, as text: the bench itself is compiled without a document. */

/** Sets `window.painted` to the ms between the start of the navigation and the frame in which the newest answer showed the words. */
export const notePaint = (words: string) => `{
  const look = () => {
    const found = [...document.querySelectorAll('.tx-turn .tx-md')].at(-1)
    if (!found?.textContent.includes(${JSON.stringify(words)})) return
    watch.disconnect()
    // A message that is posted in a frame arrives after it.
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => { window.painted = performance.now() }
      port2.postMessage(0)
    })
  }
  const watch = new MutationObserver(look)
  watch.observe(document, { childList: true, subtree: true, characterData: true })
}`

export const WORKER_IN_CHARGE = 'navigator.serviceWorker.controller !== null'

/** From where on the copy of a chat is complete; null when there is none. */
export const reachOf = (session: string) => `(async () => {
  const asked = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const name = (await indexedDB.databases()).find((one) => one.name.startsWith('talaria:'))?.name
  if (!name) return null
  const database = await asked(indexedDB.open(name))
  const record = await asked(database.transaction('pages').objectStore('pages').get(${JSON.stringify(session)}))
  database.close()
  return record?.from ?? null
})()`

/** How many blocks of the newest answer stand. */
export const BLOCKS_DRAWN = "document.querySelector('.tx-turn:last-child .tx-md')?.childElementCount ?? 0"

export const TURN_IS_OVER = "document.querySelector('.tx-turn') !== null && document.querySelector('.tx-turn[aria-busy]') === null"

/** Keeps in `window.tasks` how many tasks held the page for more than 50 ms, and the longest, ms. */
export const NOTE_TASKS = `{
  const tasks = window.tasks = { longest: 0, long: 0 }
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) {
      tasks.longest = Math.max(tasks.longest, task.duration)
      tasks.long++
    }
  }).observe({ type: 'longtask' })
}`

/** Keeps in `window.moved` by how much the thing in the middle of the view has moved in any painted frame since, px, and the frames in `window.frames_seen`. */
export const NOTE_MOVES = `{
  const box = document.querySelector('.tx-scroll').getBoundingClientRect()
  const element = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)
  const top = element.getBoundingClientRect().top
  window.moved = window.frames_seen = 0
  // In a task after the frame, so that it sees what was painted and not what is about to be put right.
  const look = () => setTimeout(() => {
    window.frames_seen++
    window.moved = Math.max(window.moved, element.isConnected ? Math.abs(element.getBoundingClientRect().top - top) : Infinity)
    requestAnimationFrame(look)
  })
  requestAnimationFrame(look)
}`
