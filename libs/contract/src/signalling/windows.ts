/** Signalling time-outs, ms, measured from the last frame of a socket. */
export const SIGNALLING_WINDOWS = {
  /** The interval of the clients' pings. */
  ping: 3_000,
  /** A client replaces its socket after this time without a frame. */
  silent: 7_000,
  /** A participant without a socket is evicted with `networkDisconnect` after this time. */
  evict: 12_000,
  /** A socket is closed if it has not joined after this time. */
  join: 10_000,
} as const
