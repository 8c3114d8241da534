import { CLOSE_CODE, type Role, type RpcRequest, ServiceError, type SignallingMethod } from '@session-service/contract'
import { failSpan, translateDatabaseError } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { countFailedJoin } from '../../participation/join-metrics.js'
import { traceCall } from '../rpc-handlers/call-trace.js'
import { JoinRpcHandlers } from '../rpc-handlers/join.rpc-handlers.js'
import { MediaRpcHandlers } from '../rpc-handlers/media.rpc-handlers.js'
import { ParticipantCalls } from '../rpc-handlers/participant-calls.js'
import { requireCurrent, requireJoinable } from '../rpc-handlers/participant-checks.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { readCall } from '../rpc-handlers/read-call.js'
import { isEntry } from './calls.js'
import { refusals } from './refusals.js'

/** Calls the handler of a request, after the checks that all methods share, and sends the answer. */
@Injectable()
export class RpcDispatcher {
  readonly #logger = new Logger(RpcDispatcher.name)

  constructor(
    private readonly joinHandlers: JoinRpcHandlers,
    private readonly mediaHandlers: MediaRpcHandlers,
    private readonly calls: ParticipantCalls,
  ) {}

  handle(socket: ClientSocket, method: SignallingMethod, request: RpcRequest): Promise<void> {
    return traceCall(socket, method, () => this.#handle(socket, method, request))
  }

  async #handle(socket: ClientSocket, method: SignallingMethod, { id, params }: RpcRequest): Promise<void> {
    try {
      await this.#dispatch(socket, method, params ?? {}, id)
    } catch (error) {
      const known = error instanceof ServiceError ? error : translateDatabaseError(error)
      failSpan(known?.code ?? 'INTERNAL')
      if (!known) this.#logger.error({ err: error, method }, 'a call of a client failed')
      if (method === 'join') countFailedJoin(known)
      socket.refuse(id, known ?? new ServiceError('INTERNAL', 'internal error'))
      if (isEntry(method) && !socket.participant && socket.countFailedJoin()) refusals.inc({ limit: 'failed_joins' })
    }
  }

  async #dispatch(socket: ClientSocket, method: SignallingMethod, params: object, id: RpcRequest['id']): Promise<void> {
    if (isEntry(method)) return this.#enter(socket, method, params, id)
    const { participant } = socket
    if (!participant) throw new ServiceError('NOT_ALLOWED', `${method} before join`)
    requireCurrent(socket)
    if (method === 'leave') {
      await this.joinHandlers.leave(socket, participant)
      socket.answer(id, {})
      return socket.close(CLOSE_CODE.done, 'disconnect')
    }
    if (method === 'ping') return
    const role = await this.calls.authorize(participant, method)
    if (method === 'rejoin') {
      const result = await this.mediaHandlers.rejoin(socket, participant)
      socket.answer(id, result)
      return socket.releaseAfter(result.snapshot)
    }
    const result = await this.calls.execute(method, participant, params, role)
    // A client publishes a former stream again under its id, and so ends this one itself.
    const isNew = method === 'publish' && 'streamId' in result && !('streamId' in params)
    if (isNew && (socket.isOver || !socket.isOpen)) return this.#unpublish(participant, result.streamId, role)
    socket.answer(id, result)
  }

  /** Ends a stream that its client does not know: the snapshot that the client got on another socket may be older. */
  async #unpublish(participant: JoinedParticipant, streamId: string, role: Role): Promise<void> {
    try {
      await this.calls.execute('unpublish', participant, { streamId }, role)
    } catch (error) {
      this.#logger.warn({ err: error, streamId }, 'ending a stream whose publisher got no answer failed')
    }
  }

  /** Assigns a participant to the socket. */
  async #enter(socket: ClientSocket, method: 'join' | 'resume', params: object, id: RpcRequest['id']): Promise<void> {
    requireJoinable(socket)
    const result =
      method === 'join'
        ? await this.joinHandlers.join(socket, readCall('join', params))
        : await this.joinHandlers.resume(socket, readCall('resume', params))
    socket.onJoined()
    socket.answer(id, result)
    socket.releaseAfter(result.snapshot)
  }
}
