/** Parts of queries that several dashboards use. */
const INTERVAL = '$__rate_interval'

export const rate = (series) => `rate(${series}[${INTERVAL}])`

/** The sum of the rates of a counter over all processes, by labels. */
export const sumOfRates = (series, by) => `sum${by ? ` by (${by})` : ''} (${rate(series)})`

/** A value that several masters export for the whole cluster, then summed over clusters. */
export const ofCluster = (series, by) =>
  `sum${by ? ` by (${by})` : ''} (max by (cluster${by ? `, ${by}` : ''}) (${series}))`

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
