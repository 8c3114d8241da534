import { availableParallelism } from 'node:os'
import { ConfigError, type NodeConfig } from '@session-service/config'

const LAST_PORT = 65_535

/** The number of media workers. @throws ConfigError when there are not enough ports from MEDIA_NODE_RTC_PORT on */
export function workerCount(
  {
    MEDIA_NODE_WORKERS: configured,
    MEDIA_NODE_RTC_PORT: first,
  }: Pick<NodeConfig, 'MEDIA_NODE_WORKERS' | 'MEDIA_NODE_RTC_PORT'>,
  cores = availableParallelism(),
): number {
  const count = configured || cores
  if (first + count - 1 > LAST_PORT)
    throw new ConfigError([
      `MEDIA_NODE_RTC_PORT: must be at most ${LAST_PORT - count + 1} with ${count} workers, which use one port each, not "${first}"`,
    ])
  return count
}
