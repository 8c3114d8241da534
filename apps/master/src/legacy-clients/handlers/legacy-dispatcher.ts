import { describeIssues, type RpcRequest, ServiceError } from '@session-service/contract'
import { failSpan, translateDatabaseError } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { countFailedJoin } from '../../participation/join-metrics.js'
import { traceCall } from '../../signalling/rpc-handlers/call-trace.js'
import type { ClientSocket } from '../../signalling/sockets/client-socket.js'
import { LEGACY_CALLS, type LegacyCall, type LegacyMethod } from '../wire/calls.js'
import { LEGACY_ERROR, legacyCode } from '../wire/errors.js'
import type { LegacyClient } from './legacy-client.js'
import { LegacyJoin } from './legacy-join.js'
import { isSdpMethod, LegacyMedia } from './legacy-media.js'
import { isRoomMethod, LegacyRoom } from './legacy-room.js'

/** The methods with the spans of ours. */
const TRACED_AS: Partial<Record<LegacyMethod, string>> = { joinRoom: 'join', connect: 'resume' }
/** Frequent methods without an effect. */
const UNTRACED: ReadonlySet<LegacyMethod> = new Set(['onIceCandidate', 'videoData', 'echo'])

/** Calls the handler of a request of version 2, and sends the answer. */
@Injectable()
export class LegacyDispatcher {
  readonly #logger = new Logger(LegacyDispatcher.name)

  constructor(
    private readonly joins: LegacyJoin,
    private readonly media: LegacyMedia,
    private readonly room: LegacyRoom,
  ) {}

  handle(socket: ClientSocket, client: LegacyClient, method: LegacyMethod, request: RpcRequest): Promise<void> {
    const handle = (): Promise<void> => this.#handle(socket, client, method, request)
    return UNTRACED.has(method) ? handle() : traceCall(socket, TRACED_AS[method] ?? method, handle)
  }

  async #handle(
    socket: ClientSocket,
    client: LegacyClient,
    method: LegacyMethod,
    { id, params }: RpcRequest,
  ): Promise<void> {
    try {
      await this.#dispatch(socket, client, method, params ?? {}, id)
    } catch (error) {
      const known = error instanceof ServiceError ? error : translateDatabaseError(error)
      failSpan(known?.code ?? 'INTERNAL')
      if (!known) this.#logger.error({ err: error, method }, 'a call of a client of version 2 failed')
      if (method === 'joinRoom') countFailedJoin(known)
      const isRejected = method === 'connect' && known?.code === 'UNAUTHENTICATED'
      const code = known ? legacyCode(known, method) : LEGACY_ERROR.generic
      if (id !== undefined)
        socket.fail(id, isRejected ? LEGACY_ERROR.reconnectionFailed : code, known?.message ?? 'internal error')
      if (method === 'joinRoom' || method === 'connect') if (!socket.participant) socket.countFailedJoin()
    }
  }

  async #dispatch(
    socket: ClientSocket,
    client: LegacyClient,
    method: LegacyMethod,
    params: object,
    id: RpcRequest['id'],
  ): Promise<void> {
    if (method === 'joinRoom') return this.joins.join(socket, client, readLegacyCall(method, params), id)
    if (method === 'connect') return this.joins.connect(socket, client, readLegacyCall(method, params), id)
    const { participant } = socket
    if (!participant || !client.participant) {
      if (id !== undefined) socket.fail(id, LEGACY_ERROR.notJoined, `${method} before joinRoom`)
      return
    }
    if (method === 'leaveRoom') {
      await this.joins.leave(socket, participant)
      socket.answer(id, {})
      return socket.closeEnded('disconnect')
    }
    const { participant: legacy } = client
    // Before it renews a stream, the library looks whether the service answers.
    if (method === 'echo') legacy.renewals.expect()
    if (isSdpMethod(method)) {
      const call = readLegacyCall(method, params)
      socket.answer(id, await legacy.renewals.run(() => this.media.call(method, participant, call, legacy)))
    } else if (isRoomMethod(method))
      socket.answer(id, await this.room.call(method, participant, readLegacyCall(method, params), legacy))
    else socket.answer(id, {})
  }
}

/** @throws ServiceError INVALID, which names each invalid field */
function readLegacyCall<M extends LegacyMethod>(method: M, params: object): LegacyCall<M> {
  const call = LEGACY_CALLS[method].safeParse(params)
  if (!call.success) throw new ServiceError('INVALID', describeIssues(call.error).join('; '))
  // The compiler does not see that the schema looked up by `method` gives the type looked up by `M`.
  return call.data as LegacyCall<M>
}
