import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '@session-service/contract'

const LOOK_MS = 20

/** Resolves with the first answer that is not undefined; rejects when none comes in time, or it is no longer waited. */
export async function waitFor<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<T> {
  const until = performance.now() + ms
  for (;;) {
    if (signal.aborted) throw signal.reason
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > until) throw new ServiceError('LAUNCH_FAILED', `${what} took longer than ${ms} ms`)
    await pause(LOOK_MS)
  }
}
