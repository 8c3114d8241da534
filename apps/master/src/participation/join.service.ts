import { newSecret, ServiceError } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { AdmissionRepository } from '../connections/admission.repository.js'
import type { Participant } from '../connections/connection.records.js'
import { ResumeRepository } from '../connections/resume.repository.js'
import { TokenReleaseRepository } from '../connections/token-release.repository.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { MASTER_ID } from '../platform/config/configuration.module.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { digest } from '../tokens/tokens.service.js'
import { Arrivals } from './arrivals.js'
import { LocationsService } from './location/locations.service.js'

/** The client that uses a token, as the server sees it. */
interface JoiningClient {
  clientData: string
  ip: string
  platform: string
}

/** Makes a client a participant: by its token, or by its resume key on a new socket. */
@Injectable()
export class JoinService {
  constructor(
    private readonly admissions: AdmissionRepository,
    private readonly resumptions: ResumeRepository,
    private readonly tokenReleases: TokenReleaseRepository,
    private readonly sessions: SessionsService,
    private readonly mediaNodes: MediaNodesService,
    private readonly placement: RoomPlacement,
    private readonly arrivals: Arrivals,
    private readonly locations: LocationsService,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /** Takes the token, exactly once over all masters and sockets. UNAUTHENTICATED does not say which part was wrong. */
  async take(token: string, client: JoiningClient): Promise<{ participant: Participant; resumeKey: string }> {
    const [hash, resumeKey] = [digest(token), newSecret()]
    await this.#requireNodes(hash)
    const participant = await this.admissions.take(hash, {
      ...client,
      location: this.locations.of(client.ip),
      resumeHash: digest(resumeKey),
      masterId: this.masterId,
    })
    if (!participant) throw new ServiceError('UNAUTHENTICATED', 'the token is not valid')
    return { participant, resumeKey }
  }

  /** Without a media node no token is taken: backends and others would see a participant that comes and goes. */
  async #requireNodes(hash: Buffer): Promise<void> {
    if (this.mediaNodes.hasNodes() || !(await this.admissions.isValid(hash))) return
    throw this.placement.noNodes()
  }

  /** After a failed join: the token is valid again, and clients that saw the participant see it leave. */
  async rollback(participant: Participant): Promise<void> {
    const { sessionEnded, place, recordingIds } = await this.tokenReleases.release(participant.connectionId)
    this.arrivals.withdraw(participant)
    if (sessionEnded) await this.sessions.release({ uniqueSessionId: participant.roomId, place, recordingIds })
  }

  /** `place` is null while the session's media is lost; `wasHere`: this master held its former socket. */
  async resume(
    connectionId: string,
    resumeKey: string,
  ): Promise<{ participant: Participant; place: RoomPlace | null; lastSignalId: number | null; wasHere: boolean }> {
    const resumed = await this.resumptions.resume(connectionId, digest(resumeKey), this.masterId)
    if (!resumed) throw new ServiceError('UNAUTHENTICATED', 'there is no such participant')
    const { lastSignalId, formerMasterId, ...participant } = resumed
    const place = (await this.placement.current(participant.roomId)) ?? null
    return { participant, place, lastSignalId, wasHere: formerMasterId === this.masterId }
  }
}
