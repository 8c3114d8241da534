import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices'
import { isObservable, lastValueFrom } from 'rxjs'
import type { z } from 'zod'
import type { Bus } from '../bus.js'
import type { BusSubscription } from '../listener.js'
import type { Rpc } from '../wire.js'
import { BusContext } from './bus-context.js'

/** Where a handler's messages come from: `rpc` for a `@MessagePattern`, `schema` for an `@EventPattern`. */
export type BusBinding =
  | { subject: string; rpc: Rpc<z.ZodType, z.ZodType>; queue?: string }
  | { subject: string; schema: z.ZodType; queue?: string }

export interface BusTransportOptions {
  /** Stays open when the transport closes: it belongs to who made it. */
  bus: Bus
  /** Called when listening begins, for each pattern of the application. */
  bind: (pattern: string) => BusBinding
}

type Events = { status: (connected: boolean) => void }

/** What the framework's own error filter leaves of an error is no error any more. */
const asError = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new Error('a handler failed in a controller that is no @BusController()', { cause: thrown })

/** The framework has already joined the handlers of one event pattern. */
async function settle(outcome: Promise<unknown>): Promise<unknown> {
  const value = await outcome
  if (!isObservable(value)) return value
  return lastValueFrom(value, { defaultValue: undefined }).catch((thrown: unknown) => {
    throw asError(thrown)
  })
}

/** Runs a Nest microservice on the Bus: subjects and schemas are chosen when it starts to listen, error codes are kept. */
export class BusTransport extends Server<Events> implements CustomTransportStrategy {
  readonly #options: BusTransportOptions
  readonly #subscriptions = new Map<string, BusSubscription>()

  constructor(options: BusTransportOptions) {
    super()
    this.#options = options
  }

  listen(callback: (error?: unknown) => void): void {
    try {
      for (const [pattern, handler] of this.messageHandlers)
        this.#subscriptions.set(pattern, this.#subscribe(pattern, handler))
    } catch (error) {
      void this.close().then(() => callback(error))
      return
    }
    const { bus } = this.#options
    // Listening means that the server knows; a bus that is away learns of the subscriptions when it comes back.
    void (bus.connected ? bus.flush().catch(() => undefined) : Promise.resolve()).then(() => callback())
  }

  /** Takes no more messages of one pattern, as a draining node takes no more offers. */
  async stop(pattern: string): Promise<void> {
    const subscription = this.#subscriptions.get(pattern)
    this.#subscriptions.delete(pattern)
    await subscription?.stop()
  }

  /** Takes no more messages; resolves when those taken are done. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions.keys()].map((pattern) => this.stop(pattern)))
  }

  on<E extends keyof Events>(_event: E, callback: Events[E]): void {
    this.#options.bus.onStatus(callback)
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the base class has it
  unwrap<T>(): T {
    return this.#options.bus as T
  }

  #subscribe(pattern: string, handler: MessageHandler): BusSubscription {
    const { bus, bind } = this.#options
    const { subject, queue, ...binding } = bind(pattern)
    const options = queue === undefined ? {} : { queue }
    if (handler.isEventHandler) {
      if (!('schema' in binding)) throw new Error(`the event pattern "${pattern}" needs a schema`)
      return bus.subscribe(
        subject,
        binding.schema,
        async (message, from) => void (await settle(handler(message, new BusContext([from])))),
        options,
      )
    }
    if (!('rpc' in binding)) throw new Error(`the message pattern "${pattern}" needs an rpc`)
    return bus.serve(subject, binding.rpc, (input, from) => settle(handler(input, new BusContext([from]))), options)
  }
}
