import type { MasterConfig } from '@session-service/config'
import type { MediaNodeRow } from '../media-nodes/media-node.repository.js'

/** A launch of a media node that has succeeded. */
interface Launch {
  /** UTC ms. */
  at: number
  durationMs: number
}

/** Older launches do not count: machines and images change. */
const RECENT = 10
/** A forecast that is too short costs more than one that is too long: three of four launches are faster. */
const QUANTILE = 0.75
export const SHORTEST_FORECAST_MS = 1_000

/** The time by which the load is forecast: measured if any launch was, else the configured one. Pure. */
export function launchTimeMs(
  launches: readonly Launch[],
  { configuredMs, longestMs }: { configuredMs: number; longestMs: number },
): number {
  const recent = launches
    .toSorted((a, b) => b.at - a.at)
    .slice(0, RECENT)
    .map(({ durationMs }) => durationMs)
    .toSorted((a, b) => a - b)
  const measured = recent[Math.ceil(recent.length * QUANTILE) - 1]
  return measured === undefined ? configuredMs : Math.min(Math.max(measured, SHORTEST_FORECAST_MS), longestMs)
}

type Rows = readonly Pick<MediaNodeRow, 'launchingTime' | 'launchDuration'>[]
type Properties = Pick<MasterConfig, 'SERVICE_PRO_CLUSTER_LAUNCH_TIME' | 'SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT'>

/** The measurements are in the rows of nodes, so that each new leader knows them. */
export const launchTimeOf = (rows: Rows, config: Properties): number =>
  launchTimeMs(
    rows.flatMap(({ launchingTime: at, launchDuration: durationMs }) =>
      durationMs === null ? [] : [{ at, durationMs }],
    ),
    {
      configuredMs: config.SERVICE_PRO_CLUSTER_LAUNCH_TIME * 1_000,
      longestMs: config.SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT * 1_000,
    },
  )
