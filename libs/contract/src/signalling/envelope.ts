import { z } from 'zod'

export const RpcRequestId = z.union([z.number(), z.string().max(64)])

/** JSON-RPC 2.0, one object per text frame. A request without `id` is executed but not answered. */
export const RpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: RpcRequestId.optional(),
  method: z.string().max(64),
  params: z.record(z.string(), z.unknown()).nullish(),
})
export type RpcRequest = z.infer<typeof RpcRequest>

const RpcError = z.object({ code: z.number(), message: z.string() })
export const RpcResponse = z.union([
  z.object({ jsonrpc: z.literal('2.0'), id: z.union([z.number(), z.string()]).nullable(), result: z.unknown() }),
  z.object({ jsonrpc: z.literal('2.0'), id: z.union([z.number(), z.string()]).nullable(), error: RpcError }),
])
export type RpcResponse = z.infer<typeof RpcResponse>
export const RpcNotification = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
  /** The id of a signal. When the client resumes, it sends the ids of the last received signals. */
  signalId: z.number().int().optional(),
})

/** The path of the clients' socket: `ws(s)://host/service/signalling?sessionId=…&token=tok_…`. */
export const SIGNALLING_PATH = '/service/signalling'
/**
 * WebSocket subprotocols, with which the request for a socket contains its first frame. A client offers all three, `plain`
 * first, which a server selects that knows none of them.
 */
export const SIGNALLING_SUBPROTOCOLS = {
  plain: 'session-service',
  /** The server has selected it: it has received the frame, and the client does not send it again. */
  withFirstFrame: 'session-service.with-first-frame',
  /** Before the frame: base64url of its UTF-8 bytes, without padding. */
  firstFramePrefix: 'session-service.first-frame.',
} as const
/** The maximum length of an encoded first frame: proxies and servers limit the headers of a request, often to 8 KiB. */
export const SIGNALLING_FIRST_FRAME_MAX_LENGTH = 4_096

/** The maximum frame size; a larger frame closes the socket. */
export const SIGNALLING_MAX_FRAME_BYTES = 262_144

/** Limits of one client. The budgets are token buckets with a capacity and a refill per second. */
export const SIGNALLING_LIMITS = {
  /** Frames; exceeding the budget closes the socket. */
  calls: { burst: 400, perSecond: 100 },
  /** Bytes of frames; exceeding the budget closes the socket. */
  bytes: { burst: 4 * 1024 * 1024, perSecond: 512 * 1024 },
  /** Bytes of signals times their recipients; a signal beyond the budget fails with RATE_LIMITED. */
  deliveries: { burst: 16 * 1024 * 1024, perSecond: 4 * 1024 * 1024 },
  /** Bytes that each delivery of a signal counts in addition to its data. */
  deliveryOverhead: 256,
  /** The maximum number of connections that a client's signal may name. */
  signalRecipients: 1_000,
  /** Limits of the signals that are kept for resuming participants of a session: number, bytes of data, and age (ms). */
  missedSignals: { count: 256, bytes: 1024 * 1024, ms: 30_000 },
  /** The number of failed `join` and `resume` calls that closes a socket. */
  failedJoins: 5,
  /** The maximum number of sockets that have not joined, per source address (IPv6: per /64 network) and in total. */
  unjoinedSockets: { source: 256, total: 4_096 },
} as const

/** Limits of `reportExperience`: the most that a report may contain, and how often a participant may report. */
export const EXPERIENCE_LIMITS = {
  stepMs: 60_000,
  videoSeconds: 7_200,
  freezes: 10_000,
  /** ms. */
  every: 10_000,
} as const

/** The server's close codes. */
export const CLOSE_CODE = {
  /** The participant left or received `sessionDisconnected`. */
  done: 4000,
  /** The participant has resumed on another socket. */
  replaced: 4001,
  /** `join` or `resume` timed out or failed too often, or the client exceeded its budget of calls or bytes. */
  abuse: 4002,
  /** The server shuts down: the client must resume at another one. */
  goingAway: 1001,
} as const
