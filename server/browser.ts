import { spawn } from 'node:child_process'

/** Opens an address in the person's browser; resolves with words when that did not work. */
export function openBrowser(address: string, platform: NodeJS.Platform): Promise<string | null> {
  const [program, ...args] = platform === 'darwin' ? ['open', address] : platform === 'win32' ? ['cmd', '/c', 'start', '', address] : ['xdg-open', address]
  return new Promise((resolve) => {
    const child = spawn(program!, args, { stdio: 'ignore', detached: true })
    child.once('error', (error) => resolve(`The browser could not be opened: ${error.message}`))
    child.once('spawn', () => {
      child.unref()
      resolve(null)
    })
  })
}
