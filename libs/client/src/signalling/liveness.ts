import { SIGNALLING_WINDOWS } from '@session-service/contract'
import { type Clock, every } from '../platform/clock.js'
import type { RpcSocket } from './rpc-socket.js'
import { SIGNALLING_TIMEOUTS } from './timeouts.js'

/** Sends pings until the returned function is called. `onDead` is called when the socket has proved not to work. */
export function watchLiveness(socket: RpcSocket, clock: Clock, pingInterval: number, onDead: () => void): () => void {
  let lastPing = clock.now()
  let wallOffset = clock.wall() - lastPing
  return every(clock, SIGNALLING_TIMEOUTS.watch, () => {
    const now = clock.now()
    const before = wallOffset
    wallOffset = clock.wall() - now
    // The computer slept, or its clock was changed: a ping shows whether the socket still works.
    if (wallOffset - before > SIGNALLING_WINDOWS.silent)
      socket.request('ping', {}, SIGNALLING_TIMEOUTS.probe).catch(onDead)
    if (now - socket.lastFrameAt > SIGNALLING_WINDOWS.silent) onDead()
    else if (now - lastPing >= pingInterval) {
      lastPing = now
      socket.request('ping', {}, SIGNALLING_TIMEOUTS.request).catch(() => {})
    }
  })
}
