import { Logger } from '@nestjs/common'
import type { Readable, Writable } from 'node:stream'
import { z } from 'zod'

const Message = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})
const END = '\0'

const logger = new Logger('Recording')

interface Waiting {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/** The Chrome DevTools Protocol over two private pipes: without a port or a secret on the command line. */
export class DevTools {
  readonly #waiting = new Map<number, Waiting>()
  #session: string | undefined
  #last = 0
  #rest = ''
  #ended = false

  constructor(
    private readonly input: Writable,
    output: Readable,
    private readonly onEvent: (method: string, params: unknown) => void,
  ) {
    input.on('error', () => this.#end())
    output.setEncoding('utf8')
    output.on('data', (text: string) => this.#read(text))
    output.on('error', () => this.#end())
    output.once('close', () => this.#end())
  }

  /** Addresses all further calls to this page. */
  useSession(id: string): void {
    this.#session = id
  }

  /** The validated answer; rejects with the error of the browser, or when it has exited. */
  async call<T>(method: string, params: object, answer: z.ZodType<T>): Promise<T> {
    if (this.#ended) throw new Error('the browser has exited')
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    const sessionId = this.#session
    this.input.write(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }) + END)
    return answer.parse(await promise)
  }

  #read(text: string): void {
    const messages = (this.#rest + text).split(END)
    this.#rest = messages.pop() ?? ''
    for (const message of messages) this.#parse(message)
  }

  /** Ignores unparseable messages: the call that it may answer has a timeout. */
  #parse(text: string): void {
    try {
      this.#dispatch(Message.parse(JSON.parse(text)))
    } catch (err) {
      logger.debug({ err }, 'ignoring an unexpected message of the browser')
    }
  }

  #dispatch({ id, method, params, result, error }: z.infer<typeof Message>): void {
    if (method !== undefined) return this.onEvent(method, params)
    const waiting = this.#waiting.get(id ?? -1)
    this.#waiting.delete(id ?? -1)
    if (error) waiting?.reject(new Error(error.message))
    else waiting?.resolve(result)
  }

  #end(): void {
    this.#ended = true
    for (const { reject } of this.#waiting.values()) reject(new Error('the browser has exited'))
    this.#waiting.clear()
  }
}
