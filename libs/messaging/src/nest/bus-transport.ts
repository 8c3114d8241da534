import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices'
import { isObservable, lastValueFrom } from 'rxjs'
import type { z } from 'zod'
import type { Bus } from '../bus/bus.js'
import type { BusSubscription } from '../bus/listener.js'
import type { Rpc } from '../bus/wire.js'
import { BusContext } from './bus-context.js'

/** The subject and schema of a handler: `rpc` for a `@MessagePattern`, `schema` for an `@EventPattern`. */
export type BusBinding =
  | { subject: string; rpc: Rpc<z.ZodType, z.ZodType>; queue?: string }
  | { subject: string; schema: z.ZodType; queue?: string }

export interface BusTransportOptions {
  /** The transport does not close it: its creator does. */
  bus: Bus
  /** Called for each pattern of the application when the transport starts to listen. */
  bind: (pattern: string) => BusBinding
}

type Events = { status: (connected: boolean) => void }

/** Nest's own error filter throws plain objects. */
const asError = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new Error('a handler failed in a controller without @BusController()', { cause: thrown })

/** Resolves a promise or an observable. Nest has already merged the handlers of one event pattern. */
async function resultOf(outcome: Promise<unknown>): Promise<unknown> {
  const value = await outcome
  if (!isObservable(value)) return value
  return lastValueFrom(value, { defaultValue: undefined }).catch((thrown: unknown) => {
    throw asError(thrown)
  })
}

/** Runs a Nest microservice on the Bus. It keeps error codes; `bind` maps patterns to subjects when it starts to listen. */
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
    // Listening implies that the server knows the subscriptions; after an outage the client subscribes again.
    void (bus.connected ? bus.flush().catch(() => undefined) : Promise.resolve()).then(() => callback())
  }

  /** Unsubscribes one pattern; a draining node does so with offers. */
  async stop(pattern: string): Promise<void> {
    const subscription = this.#subscriptions.get(pattern)
    this.#subscriptions.delete(pattern)
    await subscription?.stop()
  }

  /** Unsubscribes all patterns; resolves when the handlers in flight have finished. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions.keys()].map((pattern) => this.stop(pattern)))
  }

  on<E extends keyof Events>(_event: E, callback: Events[E]): void {
    this.#options.bus.onStatus(callback)
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- required by the base class
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
        async (message, messageSubject) => void (await resultOf(handler(message, new BusContext([messageSubject])))),
        options,
      )
    }
    if (!('rpc' in binding)) throw new Error(`the message pattern "${pattern}" needs an rpc`)
    return bus.serve(
      subject,
      binding.rpc,
      (input, messageSubject) => resultOf(handler(input, new BusContext([messageSubject]))),
      options,
    )
  }
}
