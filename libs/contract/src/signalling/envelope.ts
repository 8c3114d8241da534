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

/** Close codes of the socket. */
export const CLOSE_CODE = {
  /** The participant left or was told `sessionDisconnected`. */
  done: 4000,
  /** The participant has resumed on another socket. */
  replaced: 4001,
  /** No `join` or `resume` in time, a frame too large, or too many calls. */
  abuse: 4002,
  /** The server is going away: resume elsewhere. */
  goingAway: 1001,
} as const
