import {
  type DisconnectReason,
  type Role,
  RoomEvent,
  ServiceError,
  SessionMessage,
  type SessionNotification,
  SUBJECT,
} from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Injectable } from '@nestjs/common'

/**
 * Messages about a session between masters, which pass them to the sockets of its clients. All go over the bus, also
 * those for the sockets of this master, so that all sockets see one order.
 */
@Injectable()
export class SessionBroadcast {
  constructor(private readonly bus: Bus) {}

  /** For operations that notify clients or nodes. @throws ServiceError UNAVAILABLE without the bus */
  requireBus(): void {
    if (!this.bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  }

  notify(
    roomId: string,
    notification: SessionNotification,
    options: { to?: string[]; except?: string[]; signalId?: number } = {},
  ): void {
    this.#send(roomId, { kind: 'notify', notification, ...options })
  }

  /** Notifies the others of the end of the participant and its streams, then closes the participant's socket. */
  evict(roomId: string, connectionId: string, streamIds: string[], reason: DisconnectReason): void {
    const except = [connectionId]
    for (const streamId of streamIds) {
      this.notify(roomId, { method: 'streamDestroyed', params: { streamId, connectionId, reason } }, { except })
    }
    this.notify(roomId, { method: 'connectionDestroyed', params: { connectionId, reason } }, { except })
    this.dismiss(roomId, connectionId, reason)
  }

  /** Notifies the participant alone of its eviction; its socket closes. */
  dismiss(roomId: string, connectionId: string, reason: DisconnectReason): void {
    this.#send(roomId, { kind: 'evict', connectionId, reason })
  }

  /** Closes all sockets of the participant except this one. */
  taken(roomId: string, connectionId: string, socketId: string): void {
    this.#send(roomId, { kind: 'taken', connectionId, socketId })
  }

  /** Changes the rights of the participant on its socket. */
  rights(roomId: string, connectionId: string, role: Role, record: boolean): void {
    this.#send(roomId, { kind: 'rights', connectionId, role, record })
  }

  /** Reports that the media of this epoch is lost; clients rejoin, spread over `spreadMs`. */
  mediaLost(roomId: string, epoch: number, spreadMs: number): void {
    this.#send(roomId, { kind: 'mediaLost', epoch, spreadMs })
  }

  /** Resolves when the messages sent before have reached the bus server. */
  sent(): Promise<void> {
    return this.bus.flush()
  }

  /** Subscribes to the session. No message is missed after it resolves; the function that it gives unsubscribes. */
  async listen(
    roomId: string,
    onMessage: (message: SessionMessage) => void,
    onRoomEvent: (event: RoomEvent) => void,
  ): Promise<() => void> {
    const messages = this.bus.subscribe(SUBJECT.session(roomId), SessionMessage, onMessage)
    const events = this.bus.subscribe(SUBJECT.roomEvent(roomId), RoomEvent, onRoomEvent)
    const stop = (): void => {
      void messages.stop()
      void events.stop()
    }
    try {
      await this.bus.flush()
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  #send(roomId: string, message: SessionMessage): void {
    this.bus.publish(SUBJECT.session(roomId), SessionMessage, message)
  }
}
