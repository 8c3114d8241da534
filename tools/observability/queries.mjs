/** Parts of queries that several dashboards use. */
const INTERVAL = '$__rate_interval'

export const rate = (series) => `rate(${series}[${INTERVAL}])`

/** The sum of the rates of a counter over all processes, by labels. */
export const sumOfRates = (series, by) => `sum${by ? ` by (${by})` : ''} (${rate(series)})`

/** The labels of values of the cluster, as in docs/metrics.md; `max` of another set would drop all series but the largest. */
export const CLUSTER_LABELS = {
  cluster_sessions: ['placed'],
  cluster_connections: ['type', 'status'],
  cluster_streams: ['kind'],
  cluster_recordings: ['status'],
  cluster_cameras: ['status'],
  cluster_slots: ['kind', 'state'],
  cluster_queue_age_seconds: ['queue'],
  cluster_media_nodes: ['status'],
}

/** A value that several masters export for the whole cluster, then summed over clusters and other labels. */
export function ofCluster(series, by) {
  const [, metric] = /^session_service_(\w+)/.exec(series)
  const labels = ['cluster', ...(CLUSTER_LABELS[metric] ?? [])].join(', ')
  return `sum${by ? ` by (${by})` : ''} (max by (${labels}) (${series}))`
}

/** Quantiles of a histogram: `{ query: legend }`. */
export const quantiles = (name, matchers = '') =>
  Object.fromEntries(
    [0.5, 0.95, 0.99].map((q) => [
      `histogram_quantile(${q}, sum by (le) (${rate(`${name}_bucket${matchers}`)}))`,
      `p${q * 100}`,
    ]),
  )

/** One quantile of a histogram by a label. */
export const quantileBy = (q, name, label, matchers = '') =>
  `histogram_quantile(${q}, sum by (${label}, le) (${rate(`${name}_bucket${matchers}`)}))`
