import type { SessionSnapshot } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { Participant } from '../connections/connection.records.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { RecordingStarter } from '../recordings/lifecycle/recording-starter.service.js'
import { StreamRepository } from '../streams/stream.repository.js'

/** Reads the state of a session for its clients. */
@Injectable()
export class SessionSnapshots {
  constructor(
    private readonly participants: ParticipantRepository,
    private readonly streams: StreamRepository,
    private readonly placement: RoomPlacement,
    private readonly recordings: RecordingStarter,
  ) {}

  /**
   * The snapshot for a participant; its role decides whether it contains recordings. For one that may know some by a former
   * role, it says that there are none.
   */
  async read(
    { sessionId, role }: Pick<Participant, 'sessionId' | 'role'>,
    { mayKnowRecordings = false } = {},
  ): Promise<SessionSnapshot> {
    const [connections, streams, mediaEpoch, recordings] = await Promise.all([
      this.participants.present(sessionId),
      this.streams.present(sessionId),
      this.placement.mediaEpoch(sessionId),
      this.recordings.running(sessionId, role),
    ])
    const shown = recordings ?? (mayKnowRecordings && this.recordings.isHidden(role) ? [] : undefined)
    return { connections, streams, mediaEpoch, ...(shown && { recordings: shown }) }
  }
}
