import { get } from 'node:http'
import { type OpsAddress, PROCESS_PROBE_PATH } from '@session-service/contract'
import type { ProcessAnswer } from './process-end.js'

const TIMEOUT_MS = 1_000
const ANSWERS: Readonly<Record<number, ProcessAnswer>> = { 200: 'running', 409: 'ended' }

const isRefused = (error: Error): boolean => 'code' in error && error.code === 'ECONNREFUSED'

/** Asks the listener of a media node whether it belongs to the process. A new connection each time. */
export function probeProcess({ host, port }: OpsAddress, bootId: string): Promise<ProcessAnswer> {
  const path = `${PROCESS_PROBE_PATH}?${new URLSearchParams({ bootId }).toString()}`
  return new Promise((resolve) => {
    const request = get({ host, port, path, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) }, (response) => {
      response.resume()
      resolve(ANSWERS[response.statusCode ?? 0] ?? 'unclear')
    })
    request.once('error', (error) => resolve(isRefused(error) ? 'ended' : 'unclear'))
  })
}
