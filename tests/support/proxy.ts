import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A request that went through to the server: its first line's path, and when it was passed on, ms of `performance.now()`. */
export interface Passed { path: string; at: number }

interface Line { client: Socket; upstream: Socket; held: (() => void)[] }

/**
 * A path between a page and a server that a test can spoil. It carries bytes, knows nothing of their meaning but the first lines of requests,
 * and keeps their order in each direction.
 */
export class Proxy {
  /** Every request that reached the server. */
  readonly passed: Passed[] = []
  private readonly lines = new Set<Line>()
  private readonly server: Server
  private mode: 'open' | 'refusing' | 'stalled' = 'open'
  private delayMs = 0
  private cutNext = 0
  /** When a frame was cut last, ms of `performance.now()`; 0 for never. */
  cutAt = 0

  private constructor(private readonly target: number) {
    this.server = createServer((client) => this.accept(client))
  }

  static async open(target: number): Promise<Proxy> {
    const proxy = new Proxy(target)
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`
  }

  private accept(client: Socket): void {
    if (this.mode === 'refusing') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(this.target, '127.0.0.1')
    const line: Line = { client, upstream, held: [] }
    this.lines.add(line)
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    client.on('data', (bytes) => this.carry(line, () => this.up(line, bytes)))
    upstream.on('data', (bytes) => this.carry(line, () => this.down(line, bytes)))
    client.on('error', () => this.drop(line))
    upstream.on('error', () => this.drop(line))
    client.on('close', () => this.drop(line))
    upstream.on('end', () => this.carry(line, () => client.end()))
    upstream.on('close', () => this.lines.has(line) && this.carry(line, () => this.drop(line)))
  }

  /** Does it now, later, or when the path is back. */
  private carry(line: Line, go: () => void): void {
    if (this.mode === 'stalled') line.held.push(go)
    else if (this.delayMs > 0) setTimeout(go, this.delayMs)
    else go()
  }

  private up(line: Line, bytes: Buffer): void {
    for (const [, path] of bytes.toString('latin1').matchAll(/^(?:GET|POST) (\S+) HTTP\/1\.1\r$/gm)) this.passed.push({ path: path!, at: performance.now() })
    if (!line.upstream.destroyed) line.upstream.write(bytes)
  }

  private down(line: Line, bytes: Buffer): void {
    if (line.client.destroyed) return
    // Only what is longer than a beat is worth cutting: it is a fact that the page then lacks.
    if (this.cutNext > 0 && bytes.includes('"events"')) {
      this.cutNext -= 1
      this.cutAt = performance.now()
      line.client.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => {
        line.client.resetAndDestroy()
        this.drop(line)
      })
      return
    }
    line.client.write(bytes)
  }

  private drop(line: Line): void {
    this.lines.delete(line)
    line.client.destroy()
    line.upstream.destroy()
  }

  /** The next `n` pieces that carry events arrive as their first half, and the connection breaks. */
  cutInFrame(n: number): void {
    this.cutNext = n
  }

  /** Every byte is this late, ms. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /** Connections that stand lose their other end and are never told. New ones are carried. */
  halfOpen(): void {
    for (const line of this.lines) {
      this.lines.delete(line)
      line.upstream.removeAllListeners()
      line.upstream.on('error', () => undefined)
      line.upstream.destroy()
      line.client.removeAllListeners('data')
      line.client.on('data', () => undefined)
    }
  }

  /** Nothing is carried either way and nothing breaks, until `mend`. */
  stall(): void {
    this.mode = 'stalled'
  }

  /** Connections break and new ones are refused, until `mend`. */
  refuse(): void {
    this.mode = 'refusing'
    for (const line of [...this.lines]) {
      line.client.resetAndDestroy()
      this.drop(line)
    }
  }

  /** The path is back; what was held goes on, where somebody still waits for it. */
  mend(): void {
    this.mode = 'open'
    this.delayMs = 0
    for (const line of [...this.lines]) for (const go of line.held.splice(0)) go()
  }

  async close(): Promise<void> {
    this.mode = 'open'
    for (const line of [...this.lines]) this.drop(line)
    this.server.close()
    await new Promise<void>((resolve) => this.server.once('close', resolve).getConnections((_, count) => count === 0 && resolve()))
  }
}
