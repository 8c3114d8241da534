import { Bus } from '@session-service/messaging'
import { mapConcurrent } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { SessionSnapshots } from '../../participation/session-snapshots.js'
import { ParticipantState, syncEpoch } from '../rpc-handlers/participant-state.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { SocketRegistry } from '../sockets/socket-registry.js'

/** Clients whose snapshots are read at the same time: their reads share statements. */
const RESYNCED_TOGETHER = 20

/** Sends each client a snapshot after an outage of the bus, whose messages the client has missed. */
@Injectable()
export class SessionResync implements OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(SessionResync.name)
  #unsubscribe: (() => void) | undefined

  constructor(
    private readonly bus: Bus,
    private readonly snapshots: SessionSnapshots,
    private readonly state: ParticipantState,
    private readonly sockets: SocketRegistry,
  ) {}

  onModuleInit(): void {
    this.#unsubscribe = this.bus.onStatus((connected) => {
      if (connected) void this.#resyncAll()
    })
  }

  onModuleDestroy(): void {
    this.#unsubscribe?.()
  }

  async #resyncAll(): Promise<void> {
    await mapConcurrent([...this.sockets.all()], RESYNCED_TOGETHER, async (socket) => {
      const { participant } = socket
      if (!participant) return
      await this.#resync(socket, participant).catch((error: unknown) => {
        this.#logger.warn(
          { err: error, connectionId: participant.connectionId },
          'sending a snapshot failed, closing the socket',
        )
        // The client resumes on a new socket and gets its snapshot there; the other clients get theirs here.
        socket.terminate()
      })
    })
  }

  async #resync(socket: ClientSocket, participant: JoinedParticipant): Promise<void> {
    socket.hold()
    const readSnapshot = () => this.snapshots.read(participant, { mayKnowRecordings: true })
    const [read, changed] = await Promise.all([
      readSnapshot().catch(() => undefined),
      this.state.refreshRights(participant).catch(() => undefined),
    ])
    // The role decides whether a snapshot has recordings.
    const snapshot = changed?.includes('role') ? await readSnapshot().catch(() => read) : read
    if (snapshot) {
      syncEpoch(participant, snapshot)
      socket.notify('snapshot', snapshot)
    }
    for (const changedProperty of changed ?? []) {
      const params = { connectionId: participant.connectionId, changedProperty, newValue: participant[changedProperty] }
      socket.notify('connectionPropertyChanged', params)
    }
    socket.releaseAfter(snapshot)
    void this.state.requestSendLimits(participant)
  }
}
