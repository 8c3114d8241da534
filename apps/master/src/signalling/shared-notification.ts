import type { HeldNotification } from './missed-events.js'

/** A notification for several sockets: serialized once, when the first of them sends it. */
export class SharedNotification {
  private bytes: Buffer | undefined

  constructor(readonly notification: HeldNotification) {}

  get frame(): Buffer {
    return (this.bytes ??= Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...this.notification })))
  }
}
