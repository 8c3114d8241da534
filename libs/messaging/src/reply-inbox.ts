import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { ServiceError } from '@session-service/contract'

interface Waiting {
  resolve: (msg: Msg) => void
  reject: (error: ServiceError) => void
  timer: NodeJS.Timeout
}

/** One subscription takes the answers of all requests; the last token of the reply subject tells whose each is. */
export class ReplyInbox {
  readonly #connection: NatsConnection
  readonly #prefix: string
  readonly #waiting = new Map<string, Waiting>()
  #lastToken = 0

  constructor(connection: NatsConnection, inbox: string, onError: (error: Error) => void) {
    this.#connection = connection
    this.#prefix = `${createInbox(inbox)}.`
    connection.subscribe(`${this.#prefix}*`, {
      callback: (error, msg) => (error ? onError(error) : this.#deliver(msg)),
    })
  }

  /** @throws ServiceError TIMEOUT; what `rejectAll` gives; the client's own error when the message cannot be sent */
  ask(subject: string, payload: string, timeoutMs: number): Promise<Msg> {
    const token = (this.#lastToken += 1).toString(36)
    return new Promise((resolve, reject) => {
      this.#connection.publish(subject, payload, { reply: this.#prefix + token })
      const timer = setTimeout(() => {
        this.#waiting.delete(token)
        reject(new ServiceError('TIMEOUT', `no answer on ${subject} within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#waiting.set(token, { resolve, reject, timer })
    })
  }

  rejectAll(makeError: () => ServiceError): void {
    const all = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject, timer } of all) {
      clearTimeout(timer)
      reject(makeError())
    }
  }

  #deliver(msg: Msg): void {
    const token = msg.subject.slice(this.#prefix.length)
    const waiting = this.#waiting.get(token)
    // An answer that comes after its deadline has nobody left to read it.
    if (!waiting) return
    this.#waiting.delete(token)
    clearTimeout(waiting.timer)
    waiting.resolve(msg)
  }
}
