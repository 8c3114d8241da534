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
 * What masters tell each other of a session, and so the sockets of its clients, whichever master holds them.
 * Everything goes over the bus, also to one's own sockets, so that all see one order.
 */
@Injectable()
export class SessionBroadcast {
  constructor(private readonly bus: Bus) {}

  /** An operation that has to tell clients or nodes of itself does not begin without the bus. */
  requireBus(): void {
    if (!this.bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  }

  notify(
    roomId: string,
    notification: SessionNotification,
    options: { to?: string[]; except?: string[]; signalId?: number } = {},
  ): void {
    this.send(roomId, { kind: 'notify', notification, ...options })
  }

  /** Tells the others what goes with the participant, then the participant itself, whose socket then closes. */
  evict(roomId: string, connectionId: string, streamIds: string[], reason: DisconnectReason): void {
    const except = [connectionId]
    for (const streamId of streamIds) {
      this.notify(roomId, { method: 'streamDestroyed', params: { streamId, connectionId, reason } }, { except })
    }
    this.notify(roomId, { method: 'connectionDestroyed', params: { connectionId, reason } }, { except })
    this.dismiss(roomId, connectionId, reason)
  }

  /** Tells the participant alone that it is out. */
  dismiss(roomId: string, connectionId: string, reason: DisconnectReason): void {
    this.send(roomId, { kind: 'evict', connectionId, reason })
  }

  /** Any socket of the participant but this one is closed. */
  taken(roomId: string, connectionId: string, socketId: string): void {
    this.send(roomId, { kind: 'taken', connectionId, socketId })
  }

  rights(roomId: string, connectionId: string, role: Role, record: boolean): void {
    this.send(roomId, { kind: 'rights', connectionId, role, record })
  }

  /** The media of this epoch is gone: clients come back spread over `spreadMs`. */
  mediaLost(roomId: string, epoch: number, spreadMs: number): void {
    this.send(roomId, { kind: 'mediaLost', epoch, spreadMs })
  }

  /** Resolves once what was said before is on its way to the other masters. */
  sent(): Promise<void> {
    return this.bus.flush()
  }

  /** Once it resolves no message of the session is missed; the answer ends it. */
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

  private send(roomId: string, message: SessionMessage): void {
    this.bus.publish(SUBJECT.session(roomId), SessionMessage, message)
  }
}
