import type { RoomEvent, SessionMessage } from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import type { ClientSocket } from './client-socket.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { SharedNotification } from './shared-notification.js'
import type { ClientNotification } from './socket-dialect.js'

interface Room {
  sockets: Map<string, ClientSocket>
  /** The newest epoch with lost media. */
  lostEpoch: number
  stopListening: Promise<() => void>
}

/** The sockets of this master by session; delivers the messages of the session's broadcast to them. */
@Injectable()
export class SocketRegistry {
  readonly #logger = new Logger(SocketRegistry.name)
  readonly #rooms = new Map<string, Room>()

  constructor(private readonly broadcast: SessionBroadcast) {}

  /** Resolves when the socket receives everything that is broadcast in the session. */
  async attach(roomId: string, connectionId: string, socket: ClientSocket): Promise<void> {
    const room = this.#rooms.get(roomId) ?? this.#open(roomId)
    const former = room.sockets.get(connectionId)
    room.sockets.set(connectionId, socket)
    if (former && former !== socket) former.replace()
    try {
      await room.stopListening
    } catch (error) {
      this.detach(roomId, connectionId, socket)
      throw error
    }
  }

  detach(roomId: string, connectionId: string, socket: ClientSocket): void {
    const room = this.#rooms.get(roomId)
    if (room?.sockets.get(connectionId) !== socket) return
    room.sockets.delete(connectionId)
    if (room.sockets.size > 0) return
    this.#rooms.delete(roomId)
    void room.stopListening.then(
      (stop) => stop(),
      () => undefined,
    )
  }

  /** Whether the socket is the current one of its participant. */
  isCurrent(socket: ClientSocket): boolean {
    const { participant } = socket
    return participant !== undefined && this.get(participant.roomId, participant.connectionId) === socket
  }

  get(roomId: string, connectionId: string): ClientSocket | undefined {
    return this.#rooms.get(roomId)?.sockets.get(connectionId)
  }

  *all(): Iterable<ClientSocket> {
    for (const { sockets } of this.#rooms.values()) yield* sockets.values()
  }

  /** All sockets by the connection ids of their participants, including those that are joining. */
  *entries(): Iterable<[connectionId: string, socket: ClientSocket]> {
    for (const { sockets } of this.#rooms.values()) yield* sockets
  }

  #open(roomId: string): Room {
    const room: Room = {
      sockets: new Map(),
      lostEpoch: 0,
      stopListening: this.broadcast.listen(
        roomId,
        (message) => this.#execute(roomId, room, message),
        (event) => this.#deliverEvent(room, event),
      ),
    }
    this.#rooms.set(roomId, room)
    return room
  }

  /** Whether the media of this epoch has been lost. */
  isMediaLost(roomId: string, epoch: number): boolean {
    return epoch <= (this.#rooms.get(roomId)?.lostEpoch ?? 0)
  }

  /** The sessions with sockets here, with the oldest and the newest epoch that their sockets use. */
  heldEpochs(): Map<string, { oldest: number; newest: number }> {
    const held = new Map<string, { oldest: number; newest: number }>()
    for (const [roomId, { sockets }] of this.#rooms) {
      const epochs = [...sockets.values()].flatMap(({ participant }) => participant?.place?.epoch ?? [])
      if (epochs.length > 0) held.set(roomId, { oldest: Math.min(...epochs), newest: Math.max(...epochs) })
    }
    return held
  }

  /** Notifies the sockets that use this epoch's media of its loss. Their clients rejoin at random times within `spreadMs`. */
  mediaLost(roomId: string, epoch: number, spreadMs: number): void {
    const room = this.#rooms.get(roomId)
    if (!room) return
    room.lostEpoch = Math.max(room.lostEpoch, epoch)
    for (const socket of room.sockets.values())
      this.#attempt(socket, () => socket.notifyMediaLost(epoch, Math.random() * spreadMs))
  }

  #execute(roomId: string, { sockets }: Room, message: SessionMessage): void {
    switch (message.kind) {
      case 'notify': {
        const shared = new SharedNotification(message.notification, message.signalId)
        const excluded = new Set(message.except)
        // An id that occurs twice is one recipient.
        for (const connectionId of message.to ? new Set(message.to) : sockets.keys()) {
          const socket = excluded.has(connectionId) ? undefined : sockets.get(connectionId)
          if (socket) this.#attempt(socket, () => socket.deliver(shared))
        }
        return
      }
      case 'evict': {
        const socket = sockets.get(message.connectionId)
        if (!socket) return
        this.detach(roomId, message.connectionId, socket)
        return socket.end(message.reason)
      }
      case 'taken': {
        const socket = sockets.get(message.connectionId)
        if (!socket || socket.id === message.socketId) return
        this.detach(roomId, message.connectionId, socket)
        return socket.replace()
      }
      case 'mediaLost':
        return this.mediaLost(roomId, message.epoch, message.spreadMs)
      case 'rights': {
        const participant = sockets.get(message.connectionId)?.participant
        if (participant) Object.assign(participant, { role: message.role, record: message.record })
      }
    }
  }

  /** A socket that fails does not keep the others from the message; its client resumes on a new one. */
  #attempt(socket: ClientSocket, deliver: () => void): void {
    try {
      deliver()
    } catch (error) {
      this.#logger.error(
        { err: error, connectionId: socket.participant?.connectionId },
        'a client socket failed, ending it',
      )
      socket.terminate()
    }
  }

  #deliverEvent({ sockets }: Room, event: RoomEvent): void {
    const { to, notification } = deliveryOf(event)
    const shared = new SharedNotification(notification)
    for (const connectionId of to) {
      const socket = sockets.get(connectionId)
      if (socket?.participant?.place?.epoch === event.epoch) this.#attempt(socket, () => socket.deliver(shared))
    }
  }
}

/** The notification of an event of the session's media, and its recipients. */
function deliveryOf(event: RoomEvent): { to: readonly string[]; notification: ClientNotification } {
  switch (event.kind) {
    case 'layersChanged': {
      const { connectionId, streamId, layers } = event
      return { to: [connectionId], notification: { method: 'layersChanged', params: { streamId, layers } } }
    }
    case 'sendLimitChanged': {
      const { connectionId, streamId, maxKbps } = event
      return { to: [connectionId], notification: { method: 'sendLimitChanged', params: { streamId, maxKbps } } }
    }
    case 'speechToText':
      return { to: event.to, notification: { method: 'speechToTextMessage', params: event.message } }
    case 'subscriptionReplaced':
      return { to: event.to, notification: { method: 'subscriptionReplaced', params: { streamId: event.streamId } } }
    case 'speechToTextDisconnected': {
      const { to, connectionId, lang, message } = event
      return { to, notification: { method: 'speechToTextDisconnected', params: { connectionId, lang, message } } }
    }
  }
}
