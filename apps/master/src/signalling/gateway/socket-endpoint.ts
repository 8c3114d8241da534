import type { RpcRequest } from '@session-service/contract'
import type { ClientSocket } from '../sockets/client-socket.js'
import type { SocketDialect } from '../sockets/socket-dialect.js'
import type { UnjoinedSockets } from '../sockets/unjoined-sockets.js'
import type { CallQueues } from './calls.js'

/** A path for sockets of clients with one protocol. */
export interface SocketEndpoint {
  readonly path: string
  /** Limits its sockets that have not joined. */
  readonly unjoined: UnjoinedSockets
  /** The cost of each frame in the budget of calls before it is read. */
  readonly frameCost: number
  /** The status for an upgrade with this query that is refused; undefined for a valid one. */
  refusal(query: URLSearchParams): string | undefined
  /** The dialect of a new socket. */
  dialect(): SocketDialect
  /** The additional cost of a request in the budget of calls. */
  cost(request: RpcRequest): number
  /** Executes a request, in the order of `calls` where that matters. */
  handle(socket: ClientSocket, calls: CallQueues, request: RpcRequest): Promise<void> | void
}
