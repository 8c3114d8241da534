import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { ServiceError } from '@session-service/contract'

interface PendingRequest {
  resolve: (msg: Msg) => void
  reject: (error: ServiceError) => void
  timer: NodeJS.Timeout
}

/** One subscription receives all replies; the last token of the reply subject identifies the request. */
export class ReplyInbox {
  readonly #connection: NatsConnection
  readonly #prefix: string
  readonly #pending = new Map<string, PendingRequest>()
  #lastToken = 0

  constructor(connection: NatsConnection, inbox: string, onError: (error: Error) => void) {
    this.#connection = connection
    this.#prefix = `${createInbox(inbox)}.`
    connection.subscribe(`${this.#prefix}*`, {
      callback: (error, msg) => (error ? onError(error) : this.#deliver(msg)),
    })
  }

  /** @throws ServiceError TIMEOUT; the error of `rejectAll`; an error of the NATS client when it cannot send */
  request(subject: string, payload: string, timeoutMs: number, headers?: MsgHdrs): Promise<Msg> {
    const token = (this.#lastToken += 1).toString(36)
    return new Promise((resolve, reject) => {
      this.#connection.publish(subject, payload, { reply: this.#prefix + token, ...(headers && { headers }) })
      const timer = setTimeout(() => {
        this.#pending.delete(token)
        reject(new ServiceError('TIMEOUT', `no answer on ${subject} within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#pending.set(token, { resolve, reject, timer })
    })
  }

  rejectAll(makeError: () => ServiceError): void {
    const requests = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject, timer } of requests) {
      clearTimeout(timer)
      reject(makeError())
    }
  }

  #deliver(msg: Msg): void {
    const token = msg.subject.slice(this.#prefix.length)
    const pending = this.#pending.get(token)
    // The request has already timed out.
    if (!pending) return
    this.#pending.delete(token)
    clearTimeout(pending.timer)
    pending.resolve(msg)
  }
}
