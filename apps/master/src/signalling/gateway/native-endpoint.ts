import { isSignallingMethod, type RpcRequest, SIGNALLING_PATH } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { ClientSocket } from '../sockets/client-socket.js'
import { NATIVE, type SocketDialect } from '../sockets/socket-dialect.js'
import { UnjoinedSockets } from '../sockets/unjoined-sockets.js'
import type { CallQueues } from './calls.js'
import { RpcDispatcher } from './rpc-dispatcher.js'
import type { SocketEndpoint } from './socket-endpoint.js'

const METHOD_NOT_FOUND = -32601

/** The endpoint of the protocol in `libs/contract`. */
@Injectable()
export class NativeEndpoint implements SocketEndpoint {
  readonly path = SIGNALLING_PATH
  readonly unjoined = new UnjoinedSockets()
  readonly frameCost = 1

  constructor(private readonly dispatcher: RpcDispatcher) {}

  refusal(query: URLSearchParams): string | undefined {
    return query.get('sessionId') && query.get('token') ? undefined : '401 Unauthorized'
  }

  dialect(): SocketDialect {
    return NATIVE
  }

  cost(): number {
    return 0
  }

  handle(socket: ClientSocket, calls: CallQueues, request: RpcRequest): Promise<void> | void {
    const { method, id } = request
    if (!isSignallingMethod(method)) {
      if (id !== undefined) socket.fail(id, METHOD_NOT_FOUND, `there is no method ${method}`)
      return
    }
    if (method === 'ping') return socket.answer(id, {})
    return calls.run(request, () => this.dispatcher.handle(socket, method, request))
  }
}
