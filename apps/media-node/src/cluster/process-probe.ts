import { OpsAddress, PROCESS_PROBE_PATH } from '@session-service/contract'
import { cachedForArguments, json, type OpsService } from '@session-service/server-kit'

const WILDCARDS = ['0.0.0.0', '::']

/**
 * The address at which masters may reach the listener for probes. A process that listens on all addresses reports the
 * one from which the bus sees it: masters use it only after this process has answered there.
 */
export const opsAddress = cachedForArguments(
  (listenHost: string, port: number, ownAddress: string | undefined): OpsAddress | null => {
    const host = WILDCARDS.includes(listenHost) ? ownAddress : listenHost
    return OpsAddress.safeParse({ host, port }).data ?? null
  },
)

/** Answers masters that ask whether this process is still the one with the boot id. The answer reveals no id. */
export const serveProcessProbe = (ops: OpsService, bootId: string): void =>
  ops.onGet(PROCESS_PROBE_PATH, (query) =>
    query.get('bootId') === bootId ? json(200, { status: 'running' }) : json(409, { status: 'another process' }),
  )
