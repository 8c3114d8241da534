import { poll } from './poll.js'
import type { ManagedProcess } from './managed-process.js'

const PROBE_TIMEOUT_MS = 2_000
const PROBE_INTERVAL_MS = 50

/** Ready when `url` answers 200. */
export const answersOk =
  (url: string) =>
  async (_process: ManagedProcess, signal: AbortSignal): Promise<void> => {
    await poll(() => isOk(url, signal), { everyMs: PROBE_INTERVAL_MS, signal })
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

/** Ready when the process prints a matching line. */
export const printsLine =
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
