import type { SessionSnapshot } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ParticipantRepository } from '../../connections/participant.repository.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { SessionSnapshots } from '../../participation/session-snapshots.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'

/** Applies a loss of the media that this master missed; the client sees it in the snapshot. */
export function syncEpoch(participant: JoinedParticipant, { mediaEpoch }: SessionSnapshot): void {
  if (participant.place && participant.place.epoch < mediaEpoch) participant.place = null
}

/** Brings what a socket remembers of its participant up to date after messages of the bus were missed. */
@Injectable()
export class ParticipantState {
  constructor(
    private readonly participants: ParticipantRepository,
    private readonly snapshots: SessionSnapshots,
    private readonly nodeCommands: NodeCommands,
  ) {}

  /** Reads the state of the session, and the rights as `refreshRights` does; a snapshot has recordings by the role. */
  async refresh(
    participant: JoinedParticipant,
    options: { mayKnowRecordings?: boolean } = {},
  ): Promise<{ snapshot: SessionSnapshot; changed: ('role' | 'record')[] | undefined }> {
    const [read, changed] = await Promise.all([
      this.snapshots.read(participant, options),
      this.refreshRights(participant),
    ])
    const snapshot = changed?.includes('role') ? await this.snapshots.read(participant, options) : read
    return { snapshot, changed }
  }

  /** Reads the rights from the database and returns which of them had changed; undefined: it has been removed. */
  async refreshRights(participant: JoinedParticipant): Promise<('role' | 'record')[] | undefined> {
    const rights = await this.participants.rights(participant.connectionId)
    if (!rights) return undefined
    const changed = (['role', 'record'] as const).filter((property) => rights[property] !== participant[property])
    Object.assign(participant, rights)
    return changed
  }

  /** Asks the media node to report the send limits of the participant's streams again. */
  async requestSendLimits({ place, roomId, connectionId }: JoinedParticipant): Promise<void> {
    if (place) await this.nodeCommands.notify(place, 'reportSendLimits', { roomId, connectionId })
  }
}
