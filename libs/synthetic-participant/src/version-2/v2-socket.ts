import { WebSocket } from 'ws'
import { z } from 'zod'

const PING_MS = 5_000
/** The library gives up a call after this time. */
const CALL_TIMEOUT_MS = 10_000

const Frame = z.object({
  id: z.union([z.number(), z.string()]).nullish(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})

interface Pending {
  resolve: (result: Record<string, unknown>) => void
  reject: (error: Error) => void
}

/** The calls and pings of the browser library of version 2. */
export class V2Socket {
  readonly #pending = new Map<unknown, Pending>()
  readonly #pings: NodeJS.Timeout
  readonly #closed: Promise<void>
  readonly #socket: WebSocket
  #nextId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => this.#receive(data.toString()))
    socket.on('error', () => undefined)
    this.#closed = new Promise((resolve) => socket.once('close', (code) => resolve(this.#end(code))))
    this.#pings = setInterval(() => void this.call('ping').catch(() => undefined), PING_MS)
  }

  static async open(url: string): Promise<V2Socket> {
    const socket = new WebSocket(url)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const client = new V2Socket(socket)
    void client.call('ping', { interval: PING_MS }).catch(() => undefined)
    return client
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  call(method: string, params?: object): Promise<Record<string, unknown>> {
    if (!this.isOpen) return Promise.reject(new Error(`the socket is not open: ${method} cannot be sent`))
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
    const timer = setTimeout(() => {
      this.#pending.delete(id)
      reject(new Error(`${method} timed out after ${CALL_TIMEOUT_MS} ms`))
    }, CALL_TIMEOUT_MS)
    this.#pending.set(id, { resolve, reject })
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }), id }))
    return promise.finally(() => clearTimeout(timer))
  }

  async close(): Promise<void> {
    this.#socket.close(4102)
    await this.#closed
  }

  #receive(text: string): void {
    const { id, result, error } = Frame.parse(JSON.parse(text))
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error) pending?.reject(new Error(`${error.code}: ${error.message}`))
    else pending?.resolve(result ?? {})
  }

  #end(code: number): void {
    clearInterval(this.#pings)
    for (const { reject } of this.#pending.values()) reject(new Error(`the socket closed (${code}) before an answer`))
    this.#pending.clear()
  }
}
