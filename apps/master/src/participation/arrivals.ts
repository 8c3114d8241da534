import type { ConnectionInfo, DisconnectReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { Participant } from '../connections/connection.records.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'

/** The socket of a participant that joins, as this master knows it. */
interface ArrivalSocket {
  /** Whether it was not notified of the removal of its participant. */
  isPresent(): boolean
  /** The reason of a removal that reaches it soon after its join. */
  removedSoon(): Promise<DisconnectReason | undefined>
}

/** Notifies the other participants of a session of one that joins. */
@Injectable()
export class Arrivals {
  constructor(
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /**
   * Its removal may have been broadcast just before, and the announcement would be the last that others receive: they get
   * its end again. The message to its own socket follows that to the others, and may arrive later.
   */
  async announce(participant: Participant, socket: ArrivalSocket): Promise<void> {
    const { roomId, connectionId, isHidden } = participant
    if (isHidden) return
    const params = connectionInfo(participant)
    this.broadcast.notify(roomId, { method: 'connectionCreated', params }, { except: [connectionId] })
    await this.broadcast.sent()
    // A participant that has resumed at another master is not present here either.
    if (!socket.isPresent() && !(await this.participants.rights(connectionId))) return this.withdraw(participant)
    const reason = await socket.removedSoon()
    if (reason) this.withdraw(participant, reason)
  }

  /** After a failed join: clients that saw the participant see it leave. */
  withdraw({ roomId, connectionId, isHidden }: Participant, reason: DisconnectReason = 'networkDisconnect'): void {
    if (isHidden) return
    const params = { connectionId, reason }
    this.broadcast.notify(roomId, { method: 'connectionDestroyed', params }, { except: [connectionId] })
  }
}

const connectionInfo = ({ connectionId, activeAt, role, clientData, serverData }: Participant): ConnectionInfo => ({
  connectionId,
  createdAt: activeAt,
  role,
  clientData,
  serverData,
})
