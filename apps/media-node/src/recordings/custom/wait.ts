import { ServiceError } from '@session-service/contract'
import { poll } from '@session-service/server-kit'

const POLL_MS = 20

export type Probe<T> = () => T | undefined | Promise<T | undefined>

/** Resolves with the first defined result of `probe`; rejects after the timeout, or when `signal` is aborted. */
export async function waitFor<T extends string | number | true>(
  what: string,
  probe: Probe<T>,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<T> {
  const found: T | undefined = await poll(probe, { everyMs: POLL_MS, timeoutMs: ms, signal })
  if (found !== undefined) return found
  throw new ServiceError('LAUNCH_FAILED', `${what} took longer than ${ms} ms`)
}
