import { z } from 'zod'

/** JSON-RPC 2.0, one object a text frame. A request without `id` is carried out and not answered. */
export const RpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.number(), z.string().max(64)]).optional(),
  method: z.string().max(64),
  params: z.record(z.string(), z.unknown()).nullish(),
})
export type RpcRequest = z.infer<typeof RpcRequest>

export const RpcError = z.object({ code: z.number(), message: z.string() })
export const RpcResponse = z.union([
  z.object({ jsonrpc: z.literal('2.0'), id: z.union([z.number(), z.string()]).nullable(), result: z.unknown() }),
  z.object({ jsonrpc: z.literal('2.0'), id: z.union([z.number(), z.string()]).nullable(), error: RpcError }),
])
export type RpcResponse = z.infer<typeof RpcResponse>
export const RpcNotification = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
  /** Of a signal: the client names the last ones it received when it resumes. */
  signalId: z.number().int().optional(),
})

/** Where clients open their socket: `ws(s)://host/service/signalling?sessionId=…&token=tok_…`. */
export const SIGNALLING_PATH = '/service/signalling'
/** A larger frame closes the socket. */
export const SIGNALLING_MAX_FRAME_BYTES = 262_144

/** How long what may last, ms; counted from the last frame of a socket. */
export const SIGNALLING_WINDOWS = {
  /** Clients ping this often. */
  ping: 3_000,
  /** A client that hears nothing this long takes its socket for dead. */
  silent: 7_000,
  /** A participant whose socket has been gone this long is evicted with `networkDisconnect`. */
  evict: 12_000,
  /** A socket that has not joined by then is closed. */
  join: 10_000,
} as const

/** What one client may use of a server. Budgets are token buckets: what they hold when full, and what is added a second. */
export const SIGNALLING_LIMITS = {
  /** Frames. More of them close the socket. */
  calls: { burst: 400, perSecond: 100 },
  /** Bytes of frames. More of them close the socket. */
  bytes: { burst: 4 * 1024 * 1024, perSecond: 512 * 1024 },
  /** Bytes of signals times their recipients. A signal beyond it is refused with RATE_LIMITED. */
  deliveries: { burst: 16 * 1024 * 1024, perSecond: 4 * 1024 * 1024 },
  /** Bytes that each delivery of a signal counts beside its data. */
  deliveryOverhead: 256,
  /** Connections that a client's signal may name. */
  signalRecipients: 1_000,
  /** Signals of a session that are kept for participants that resume: their number, bytes of data, and age (ms). */
  missedSignals: { count: 256, bytes: 1024 * 1024, ms: 30_000 },
  /** So many refused calls of `join` and `resume` close a socket. */
  failedJoins: 5,
  /** Sockets that have not joined, of one source address (of IPv6 its /64 network) and of all. More are refused. */
  unjoinedSockets: { source: 256, total: 4_096 },
} as const

/** Close codes of the socket. */
export const CLOSE_CODE = {
  /** The participant left or was told `sessionDisconnected`. */
  done: 4000,
  /** The participant has resumed on another socket. */
  replaced: 4001,
  /** No `join` or `resume` in time, too many of them that failed, or more calls or bytes than a client may send. */
  abuse: 4002,
  /** The server is going away: resume elsewhere. */
  goingAway: 1001,
} as const
