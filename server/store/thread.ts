import { parentPort, workerData } from 'node:worker_threads'
import type { Request, ThreadData } from './protocol'
import { openRole } from './role'

/** Entry of every store thread: opens its connection by its role and says so, or why not, and then answers what it is asked, in order. */
const port = parentPort!
const role = openRole(workerData as ThreadData)

if ('unopened' in role) port.postMessage(role)
else {
  port.on('message', (request: Request | 'close') => {
    if (request !== 'close') return port.postMessage(role.answer(request))
    role.close()
    port.close()
  })
  port.postMessage(role.opened)
}
