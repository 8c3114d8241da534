import type { ConnectionInfo } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { Participant } from '../connections/connection.records.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'

/** Notifies the other participants of a session of one that joins. */
@Injectable()
export class Arrivals {
  constructor(
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /**
   * Its removal may have been broadcast just before, and the announcement would be the last that others receive: they get
   * its end again.
   *
   * @param isPresent whether its socket was not notified of its removal
   */
  async announce(participant: Participant, isPresent: () => boolean): Promise<void> {
    const { roomId, connectionId, isHidden } = participant
    if (isHidden) return
    const params = connectionInfo(participant)
    this.broadcast.notify(roomId, { method: 'connectionCreated', params }, { except: [connectionId] })
    await this.broadcast.sent()
    // A participant that has resumed at another master is not present here either.
    if (!isPresent() && !(await this.participants.rights(connectionId))) this.withdraw(participant)
  }

  /** After a failed join: clients that saw the participant see it leave. */
  withdraw({ roomId, connectionId, isHidden }: Participant): void {
    if (isHidden) return
    const params = { connectionId, reason: 'networkDisconnect' as const }
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
