import {
  type DisconnectReason,
  ServiceError,
  type SessionSnapshot,
  type SignallingCall,
} from '@session-service/contract'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { iceServersFor } from '../../signalling/ice/ice-servers.js'
import { JoinRpcHandlers } from '../../signalling/rpc-handlers/join.rpc-handlers.js'
import { connectionEnded, requireJoinable } from '../../signalling/rpc-handlers/participant-checks.js'
import { readCall } from '../../signalling/rpc-handlers/read-call.js'
import type { ClientSocket, JoinedParticipant, RpcId } from '../../signalling/sockets/client-socket.js'
import { joinResult } from '../translation/views.js'
import { type LegacyCall, tokenOf } from '../wire/calls.js'
import { readReconnectKey, unpackCapabilities, writeReconnectKey } from '../wire/reconnect-key.js'
import { LegacyCaptions } from './legacy-captions.js'
import { type LegacyClient, legacyFrame, LegacyParticipant, LOST_EPOCH } from './legacy-client.js'
import { LegacyMediaRecovery } from './legacy-media-recovery.js'
import { LegacyParticipants } from './legacy-participants.js'
import { mayHaveLostFrames } from './lost-frames.js'

/** The library gives up after 10 s, and would leave a participant behind that it does not know of. */
const JOIN_TIMEOUT_MS = 8_000
/** The library gets credentials once, for all of its peer connections: at least as long as a session may last, s. */
const TURN_TTL_S = 7 * 24 * 3_600

/** The handlers of `joinRoom`, `connect` and `leaveRoom`. */
@Injectable()
export class LegacyJoin {
  readonly #logger = new Logger(LegacyJoin.name)

  constructor(
    private readonly joins: JoinRpcHandlers,
    private readonly participants: LegacyParticipants,
    private readonly recovery: LegacyMediaRecovery,
    private readonly captions: LegacyCaptions,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async join(
    socket: ClientSocket,
    client: LegacyClient,
    call: LegacyCall<'joinRoom'>,
    id: RpcId | undefined,
  ): Promise<void> {
    requireJoinable(socket, client.isJoining)
    const { token, metadata = '', platform, sdkVersion } = call
    const params = readCall('join', { token: tokenOf(token), clientData: metadata, platform })
    const joined = await this.#joinInTime(socket, client, params)
    const { participant } = socket
    if (!participant) throw connectionEnded()
    const { connectionId, sessionId } = joined
    const legacy = this.#add(socket, client, new LegacyParticipant(connectionId, sessionId))
    const { routerRtpCapabilities: rtpCapabilities, resumeKey } = joined
    legacy.enter(rtpCapabilities, joined.snapshot.mediaEpoch)
    legacy.roster.own.enter(joined, joined.snapshot.recordings)
    const result = joinResult({
      ...joined,
      clientData: participant.clientData,
      others: legacy.roster.join(joined.snapshot),
      recordings: joined.snapshot.recordings,
      iceServers: this.#iceServers(participant),
      ownIceServer: { url: `stun:${this.config.DOMAIN_OR_PUBLIC_IP}:${this.config.TURN_PORT}` },
      reconnectKey: writeReconnectKey({ connectionId, resumeKey, rtpCapabilities }),
      sdkVersion,
    })
    socket.onJoined()
    socket.answer(id, result)
    socket.releaseAfter(joined.snapshot)
  }

  /** Answers TIMEOUT in time; what the join has done by then, or does later, is undone. */
  async #joinInTime(
    socket: ClientSocket,
    client: LegacyClient,
    call: SignallingCall<'join'>,
  ): ReturnType<JoinRpcHandlers['joinPerStream']> {
    const controller = new AbortController()
    client.isJoining = true
    const joining = this.joins.joinPerStream(socket, call, controller.signal).finally(() => (client.isJoining = false))
    const late = new Promise<never>((_, reject) => {
      const timeout = setTimeout(() => {
        controller.abort()
        reject(new ServiceError('TIMEOUT', 'joining took too long'))
      }, JOIN_TIMEOUT_MS)
      void joining.then(
        () => clearTimeout(timeout),
        () => clearTimeout(timeout),
      )
    })
    joining.then(
      () => controller.signal.aborted && this.#undo(socket),
      () => undefined,
    )
    return Promise.race([joining, late])
  }

  #undo(socket: ClientSocket): void {
    socket.forgetHeld()
    const { participant } = socket
    if (!participant) return
    const { connectionId } = participant
    this.joins.leave(socket, participant).catch((error: unknown) => {
      this.#logger.warn(
        { err: error, connectionId },
        'undoing a late join failed, the participant is evicted with its socket',
      )
    })
  }

  #iceServers({ iceServers }: JoinedParticipant): ReturnType<typeof iceServersFor> {
    const TURN_CREDENTIALS_TTL = Math.max(this.config.TURN_CREDENTIALS_TTL, TURN_TTL_S)
    return iceServersFor(iceServers, { ...this.config, TURN_CREDENTIALS_TTL }, this.clock.now())
  }

  /** A new socket of a participant. The changes that it has missed follow the answer. */
  async connect(
    socket: ClientSocket,
    client: LegacyClient,
    { sessionId: key }: LegacyCall<'connect'>,
    id: RpcId | undefined,
  ): Promise<void> {
    requireJoinable(socket, client.isJoining)
    const { connectionId, resumeKey, packedCapabilities } = readReconnectKey(key)
    const mayHaveLost = mayHaveLostFrames(this.participants.get(connectionId)?.socket)
    const { snapshot, ...rights } = await this.joins.resume(socket, readCall('resume', { connectionId, resumeKey }))
    const { participant } = socket
    if (!participant) throw connectionEnded()
    // This master does not know which notifications another master has sent it since.
    const isKnownHere = participant.wasHere && this.participants.get(connectionId) !== undefined
    const isAbsent = !isKnownHere && (await this.recovery.isAbsent(participant))
    const known = participant.wasHere ? this.participants.get(connectionId) : undefined
    const legacy = this.#add(socket, client, known ?? new LegacyParticipant(connectionId, participant.sessionId))
    if (!known) {
      legacy.enter(unpackCapabilities(packedCapabilities), isAbsent ? LOST_EPOCH : snapshot.mediaEpoch)
      // At another master: to notify the client of a known stream again would cost it its media.
      legacy.assume(snapshot)
      legacy.roster.own.enter(rights, snapshot.recordings)
    }
    if (legacy.epoch < snapshot.mediaEpoch) participant.place = null
    legacy.renewals.expect()
    const isLost = !participant.place
    if (isLost) legacy.awaitsStreams = true
    socket.onJoined()
    socket.answer(id, { sessionId: key, value: 'reconnection successful' })
    if (socket.endReason) return this.#end(socket, connectionId, socket.endReason)
    if (known && mayHaveLost) for (const repair of legacy.repair(snapshot)) socket.write(legacyFrame(repair))
    socket.notify('snapshot', snapshot)
    for (const changedProperty of ['role', 'record'] as const) {
      const params = { connectionId, changedProperty, newValue: rights[changedProperty] }
      socket.notify('connectionPropertyChanged', params)
    }
    if (!isLost && !legacy.hasLostOwn) endMissingOwn(socket, legacy, snapshot)
    socket.releaseAfter(snapshot)
    if (isLost) legacy.onMedia({ kind: 'lost', afterMs: 0 })
    else this.captions.repeatAll(socket, legacy)
  }

  /** The participant ended before the socket could be notified. */
  #end(socket: ClientSocket, connectionId: string, reason: DisconnectReason): void {
    socket.forgetHeld()
    socket.notify('sessionDisconnected', { reason })
    this.participants.delete(connectionId)
  }

  async leave(socket: ClientSocket, participant: JoinedParticipant): Promise<void> {
    await this.joins.leave(socket, participant)
    this.participants.delete(participant.connectionId)
  }

  #add(socket: ClientSocket, client: LegacyClient, legacy: LegacyParticipant): LegacyParticipant {
    client.participant = legacy
    legacy.socket = socket
    this.participants.set(legacy.roster.ownId, legacy)
    legacy.onMedia = (event) => this.recovery.handle(socket, legacy, event)
    return legacy
  }
}

/** The client could not be notified of the end of its stream. */
function endMissingOwn(socket: ClientSocket, { own, roster }: LegacyParticipant, { streams }: SessionSnapshot): void {
  if (!own || streams.some(({ streamId }) => streamId === own.streamId)) return
  const params = { streamId: own.streamId, connectionId: roster.ownId, reason: 'forceUnpublishByServer' as const }
  socket.notify('streamDestroyed', params)
}
