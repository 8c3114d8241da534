import { CLOSE_CODE, SIGNALLING_WINDOWS } from '@session-service/contract'
import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common'
import { HELD_PARTICIPANTS, PresenceRepository } from '../../connections/presence.repository.js'
import { ParticipantPresence } from '../../participation/participant-presence.js'
import { MASTER_ID } from '../../platform/config/configuration.module.js'
import { Job } from '../../platform/jobs/job.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { SocketRegistry } from '../sockets/socket-registry.js'

const ALIGN_EVERY_MS = 5_000
/**
 * A client whose page is gone has this long to resume, ms: it is still there when a proxy has closed the socket. Firefox
 * closes sockets before a page learns that it is left, so that the client cannot send `leave`.
 */
const PAGE_GONE_MS = 2_000

/** Detects sockets that are silent, closed or orphaned, and keeps the eviction deadlines of their participants. */
@Injectable()
export class SocketLiveness implements BeforeApplicationShutdown {
  readonly #logger = new Logger(SocketLiveness.name)
  #isHandingOver = false
  readonly #departures = new Set<NodeJS.Timeout>()
  /** The orphaned sockets of the last check. */
  #orphans = new Set<ClientSocket>()

  constructor(
    private readonly presence: ParticipantPresence,
    private readonly deadlines: PresenceRepository,
    private readonly sockets: SocketRegistry,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /**
   * This master closes its sockets to shut down. Their participants get no deadline: the time until a master accepts their
   * clients again, which may be the start of the only one, is not theirs. The leader starts the deadlines afterwards.
   */
  handOver(): void {
    this.#isHandingOver = true
    for (const departure of this.#departures) clearTimeout(departure)
  }

  /** Once no job runs: participants that have lost their sockets get the whole window as well. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.deadlines.clearDeadlines(this.masterId).catch((error: unknown) => {
      this.#logger.warn({ err: error }, 'handing over participants failed')
    })
  }

  /** A frame has arrived; `now` by `performance.now()`. */
  received(socket: ClientSocket, now: number): void {
    socket.lastSeen = now
    if (!socket.isMarkedLost || !this.sockets.isCurrent(socket) || !socket.participant) return
    socket.isMarkedLost = false
    void this.deadlines.markFound(socket.participant.connectionId, this.masterId).catch(() => {
      socket.isMarkedLost = true
    })
  }

  /** The socket has closed: a participant that did not leave can resume until its eviction. */
  async closed(socket: ClientSocket): Promise<void> {
    const { participant } = socket
    if (!participant || !this.sockets.isCurrent(socket)) return
    this.sockets.detach(participant.roomId, participant.connectionId, socket)
    if (this.#isHandingOver) return
    if (socket.isPageGone) this.#departSoon(participant)
    await this.#markLost(socket, performance.now())
  }

  #departSoon({ roomId, connectionId }: JoinedParticipant): void {
    const departure = setTimeout(() => {
      this.#departures.delete(departure)
      // It has resumed, perhaps before it was marked as lost.
      if (this.sockets.get(roomId, connectionId)) return
      // After a failure its deadline applies.
      this.presence.departIfLost(connectionId).catch((error: unknown) => {
        this.#logger.warn({ err: error, connectionId }, 'removing a participant whose page is gone failed')
      })
    }, PAGE_GONE_MS)
    this.#departures.add(departure)
  }

  /** Closes a socket that did not join in time, marks a silent one as lost, and ends one that stays silent. */
  check(socket: ClientSocket, now: number): void {
    const silentMs = now - socket.lastSeen
    const { windows } = socket.dialect
    if (!socket.participant && now - socket.openedAt > windows.join) socket.close(CLOSE_CODE.abuse, 'no join in time')
    if (silentMs > windows.silent && !socket.isMarkedLost && this.sockets.isCurrent(socket))
      void this.#markLost(socket, now)
    if (silentMs > windows.terminate) socket.terminate()
  }

  async #markLost(socket: ClientSocket, now: number): Promise<void> {
    const { participant, lastSeen, lastSignalId, dialect } = socket
    if (!participant) return
    const { connectionId } = participant
    socket.isMarkedLost = true
    // The deadline is counted by the window of native clients.
    const silentMs = now - lastSeen - (dialect.windows.evict - SIGNALLING_WINDOWS.evict)
    await this.presence.markLost(connectionId, silentMs, lastSignalId).catch((error: unknown) => {
      this.#logger.warn({ err: error, connectionId }, 'marking a participant as lost failed')
    })
  }

  /**
   * Closes sockets whose participants are no longer in the database as this master's: a message was lost. The first check
   * that finds one only notes it, because the message with the reason follows the change of the database.
   */
  @Job({ name: 'orphaned sockets', scope: 'every master', everyMs: ALIGN_EVERY_MS })
  async dropOrphans(): Promise<void> {
    const before = this.#orphans
    this.#orphans = new Set()
    const held = new Map<string, ClientSocket>()
    for (const socket of this.sockets.all()) if (socket.participant) held.set(socket.participant.connectionId, socket)
    if (held.size === 0) return
    for (const connectionId of await this.deadlines.orphans([...held.keys()], this.masterId)) {
      const socket = held.get(connectionId)
      if (!socket?.participant || !this.sockets.isCurrent(socket)) continue
      if (!before.has(socket)) {
        this.#orphans.add(socket)
        continue
      }
      this.sockets.detach(socket.participant.roomId, connectionId, socket)
      socket.end('networkDisconnect')
    }
  }

  /** Corrects the presence of participants in the database by the sockets that this master holds. */
  @Job({ name: 'eviction deadlines', scope: 'every master', everyMs: ALIGN_EVERY_MS, due: HELD_PARTICIPANTS })
  async alignDeadlines(): Promise<void> {
    if (this.#isHandingOver) return
    const here = [...this.sockets.entries()]
    const speaking = here.filter(([, socket]) => socket.isOpen && !socket.isMarkedLost)
    const idsOf = (some: typeof here): string[] => some.map(([connectionId]) => connectionId)
    await this.deadlines.alignDeadlines(this.masterId, idsOf(here), idsOf(speaking), SIGNALLING_WINDOWS.evict)
  }
}
