import { setTimeout as delay } from 'node:timers/promises'
import type { ManagedProcess } from './managed-process.js'

const PROBE_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 50

/** Resolves once `url` answers 200. */
export const answersOk =
  (url: string) =>
  async (_process: ManagedProcess, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      if (await isOk(url, signal)) return
      await delay(PROBE_INTERVAL_MS, undefined, { signal })
    }
  }

async function isOk(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]) })
    await answer.body?.cancel()
    return answer.status === 200
  } catch {
    return false
  }
}

/** Resolves once the process writes a line that matches. */
export const says =
  (pattern: RegExp) =>
  (process: ManagedProcess, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const stop = process.onLine((line) => {
        if (!pattern.test(line)) return
        stop()
        resolve()
      })
      signal.addEventListener('abort', stop, { once: true })
    })
