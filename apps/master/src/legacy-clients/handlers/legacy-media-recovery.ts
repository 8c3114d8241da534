import { CLOSE_CODE, type ErrorCode, ServiceError } from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { SessionSnapshots } from '../../participation/session-snapshots.js'
import { MediaRpcHandlers } from '../../signalling/rpc-handlers/media.rpc-handlers.js'
import type { ClientSocket, JoinedParticipant } from '../../signalling/sockets/client-socket.js'
import { LegacyCaptions } from './legacy-captions.js'
import { legacyFrame, type LegacyParticipant, type MediaEvent } from './legacy-client.js'
import { LegacyMedia } from './legacy-media.js'

const RETRIED: readonly ErrorCode[] = ['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT']
const RETRY_MS = 1_000
/** Publishers see the loss of their media by themselves, after 7 to 15 s. Streams that are missing then have ended. */
const STREAMS_AWAITED_MS = 30_000

/**
 * The library sees the loss of its media after 5 to 7 s, and waits for it 4 s more. With a new socket it renews at once what
 * is lost: the master closes the socket of a publisher whose stream has not returned so long after the rejoin.
 */
const CLOSE_AFTER_MS = 7_000
/** For this long after the rejoin it closes the socket again, unless the client may be renewing its media. */
const CLOSE_UNTIL_MS = 60_000
const QUIET_MS = 5_000
const CLOSE_POLL_MS = 500

/** A node that does not answer in time may have the participant. */
const PROBE_TIMEOUT_MS = 2_000

/** Does for clients of version 2 what native clients do by themselves when media is lost or replaced. */
@Injectable()
export class LegacyMediaRecovery {
  readonly #logger = new Logger(LegacyMediaRecovery.name)
  readonly #rejoining = new WeakSet<ClientSocket>()

  constructor(
    private readonly media: LegacyMedia,
    private readonly captions: LegacyCaptions,
    private readonly mediaHandlers: MediaRpcHandlers,
    private readonly nodeCommands: NodeCommands,
    private readonly snapshots: SessionSnapshots,
  ) {}

  handle(socket: ClientSocket, legacy: LegacyParticipant, event: MediaEvent): void {
    const handled =
      event.kind === 'lost'
        ? this.#rejoin(socket, legacy, event.afterMs)
        : event.kind === 'returned'
          ? this.#offerReturned(socket, legacy, event.streamId)
          : legacy.offers.renew(event.streamId, () => this.#offerAgain(socket, legacy, event.streamId))
    handled.catch((error: unknown) => {
      const connectionId = socket.participant?.connectionId
      this.#logger.warn({ err: error, connectionId, event: event.kind }, 'renewing the media of a client failed')
    })
  }

  /** Whether the node of the session does not have the participant: it has missed a loss of its media. */
  async isAbsent({ place, roomId, connectionId }: JoinedParticipant): Promise<boolean> {
    if (!place) return false
    try {
      const params = { roomId, connectionId }
      await this.nodeCommands.request(place, 'reportSendLimits', params, { timeoutMs: PROBE_TIMEOUT_MS })
      return false
    } catch (error) {
      return error instanceof ServiceError && error.code === 'NOT_FOUND' && error.subject === 'connection'
    }
  }

  async #rejoin(socket: ClientSocket, legacy: LegacyParticipant, afterMs: number): Promise<void> {
    // A new socket may be notified of a loss that its first snapshot contains.
    if (this.#rejoining.has(socket)) return
    this.#rejoining.add(socket)
    const hasEntered = await this.#enter(socket, legacy, afterMs).finally(() => this.#rejoining.delete(socket))
    if (hasEntered) await Promise.all([this.#renewOwn(legacy), this.#endMissing(legacy)])
  }

  /** Enters the room at its new place, and offers the streams that are there already. Returns whether it did. */
  async #enter(socket: ClientSocket, legacy: LegacyParticipant, afterMs: number): Promise<boolean> {
    let hasEntered = false
    await sleep(afterMs)
    // Again, when the new media is lost meanwhile.
    while (socket.isOpen && socket.participant && !socket.participant.place) {
      try {
        const { snapshot, routerRtpCapabilities } = await this.mediaHandlers.rejoinPerStream(socket, socket.participant)
        legacy.enter(routerRtpCapabilities, snapshot.mediaEpoch)
        socket.notify('snapshot', snapshot)
        socket.releaseAfter(snapshot)
        this.captions.repeatAll(socket, legacy)
        for (const { streamId } of snapshot.streams) this.handle(socket, legacy, { kind: 'returned', streamId })
        hasEntered = true
      } catch (error) {
        if (!(error instanceof ServiceError) || !RETRIED.includes(error.code)) throw error
        await sleep(RETRY_MS)
      }
    }
    return hasEntered
  }

  /** Not when the client has asked by itself meanwhile. */
  async #offerReturned(socket: ClientSocket, legacy: LegacyParticipant, streamId: string): Promise<void> {
    await legacy.offers.idle(streamId)
    if (legacy.subscriptions.get(streamId) === socket.participant?.place?.epoch) return
    await this.#offerAgain(socket, legacy, streamId)
  }

  /** The client answers with `reconnectStream`. Nothing for a stream that it does not receive. */
  async #offerAgain(socket: ClientSocket, legacy: LegacyParticipant, streamId: string): Promise<void> {
    const { participant } = socket
    if (!participant?.place || !legacy.subscriptions.has(streamId)) return
    const sdpOffer = await this.media.offer(participant, streamId, legacy)
    const connectionId = legacy.roster.wireIdOf({ streamId, connectionId: '' })
    legacy.renewals.expect()
    socket.write(legacyFrame({ method: 'forciblyReconnectSubscriber', params: { connectionId, streamId, sdpOffer } }))
  }

  async #renewOwn(legacy: LegacyParticipant): Promise<void> {
    const { epoch, renewals } = legacy
    const rejoinedAt = performance.now()
    await sleep(CLOSE_AFTER_MS)
    while (legacy.epoch === epoch && legacy.hasLostOwn && performance.now() - rejoinedAt < CLOSE_UNTIL_MS) {
      const { socket } = legacy
      if (socket?.isOpen && renewals.quietMs >= QUIET_MS)
        socket.close(CLOSE_CODE.goingAway, 'the media of the stream was lost')
      await sleep(CLOSE_POLL_MS)
    }
  }

  async #endMissing(legacy: LegacyParticipant): Promise<void> {
    await sleep(STREAMS_AWAITED_MS)
    const { socket } = legacy
    const participant = socket?.participant
    if (!socket?.isOpen || !participant?.place) return
    const { epoch } = participant.place
    const snapshot = await this.snapshots.read(participant)
    if (snapshot.mediaEpoch !== epoch) return
    legacy.awaitsStreams = false
    socket.notify('snapshot', snapshot)
  }
}
