import { connect } from 'node:net'
import type { Server } from 'node:http'

/** Why the server cannot listen; `words` are for the terminal. */
export class CannotListen extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'CannotListen'
  }
}

const TRIES = 20

/**
 * Makes one server for each address, all on one port, and gives that port; 0 takes one that is free on all of them. A machine without IPv6 keeps
 * IPv4 alone. Rejects with `CannotListen` when something answers there already.
 */
export async function listen(addresses: string[], port: number, make: () => Server): Promise<{ port: number; servers: Server[] }> {
  if (port !== 0) for (const address of addresses) if (await answers(address, port)) throw taken(port)
  for (let attempt = 1; ; attempt++) {
    const servers: Server[] = []
    let bound = port
    try {
      for (const address of addresses) {
        const server = make()
        const got = await bind(server, address, bound)
        if (got === null) continue
        bound = got
        servers.push(server)
      }
      if (servers.length === 0) throw new CannotListen(`This machine has no address ${addresses.join(' or ')}.`)
      return { port: bound, servers }
    } catch (error) {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'EADDRINUSE' && port === 0 && attempt < TRIES) continue
      if (code === 'EADDRINUSE') throw taken(port)
      if (code === 'EACCES') throw new CannotListen(`This account may not listen on port ${port}. Choose one above 1023 with --port.`)
      throw error
    }
  }
}

/** The port, or null where the machine does not have that address. */
function bind(server: Server, address: string, port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT' ? resolve(null) : reject(error))
    server.once('error', failed)
    server.listen({ port, host: address, ipv6Only: true }, () => {
      server.off('error', failed)
      resolve((server.address() as { port: number }).port)
    })
  })
}

/** Whether something accepts connections there: on some systems a second listener on a narrower address would steal it silently. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 500 })
    const end = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false)).once('timeout', () => end(false))
  })
}

function taken(port: number): CannotListen {
  return new CannotListen(`Something answers on port ${port} already. If it is Talaria, open http://localhost:${port}; else choose another port with --port.`)
}
