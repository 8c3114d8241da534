import type { ClientNotification } from './socket-dialect.js'

/** A notification for several sockets: serialized once, when the first of them sends it. */
export class SharedNotification {
  #bytes: Buffer | undefined

  constructor(
    readonly notification: ClientNotification,
    readonly signalId?: number,
  ) {}

  get frame(): Buffer {
    const { notification, signalId } = this
    return (this.#bytes ??= Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...notification, signalId })))
  }
}
