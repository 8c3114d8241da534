import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { withTimeout } from './async/timeout.js'
import { collectProcessMetrics } from './process-metrics.js'

const PREFIX = 'session_service_'
const OTHER = 'other'
/** Time limit of a sampled gauge, for which the scrape waits, ms. */
const SAMPLE_TIMEOUT_MS = 1_000
/** The most time series that a counter exports before its first increment. */
const MAX_INITIAL_SERIES = 64

/** The values of a label: a list, or a maximum number of distinct ones. Any other value becomes `other`. */
export type LabelBounds = Readonly<Record<string, readonly string[] | number>>
type Labels<L extends LabelBounds> = { readonly [N in keyof L]: string }

interface Described<L extends LabelBounds> {
  help: string
  labels?: L
}

export const registry = new Registry()
collectProcessMetrics(registry)

/** Bounds the number of time series. */
function bounded<L extends LabelBounds>(bounds: L): (labels: Labels<L>) => Record<string, string> {
  const seen = new Map(Object.keys(bounds).map((name) => [name, new Set<string>()]))
  const keep = (name: string, value: string): string => {
    const bound = bounds[name]
    if (typeof bound !== 'number') return bound?.includes(value) ? value : OTHER
    const values = seen.get(name)
    if (!values || values.has(value)) return value
    if (values.size >= bound) return OTHER
    values.add(value)
    return value
  }
  const entries = (labels: Labels<L>) => Object.entries<string>(labels)
  return (labels) =>
    // Nearly always, and without a copy.
    entries(labels).every(([name, value]) => keep(name, value) === value)
      ? labels
      : Object.fromEntries(entries(labels).map(([name, value]) => [name, keep(name, value)]))
}

const namesOf = (labels: LabelBounds | undefined): string[] => Object.keys(labels ?? {})
const boundsOf = <L extends LabelBounds>(labels: L | undefined): L => labels ?? ({} as L)

/** All combinations of the listed values; none when a label has no list, or when there are too many. */
function combinations(bounds: LabelBounds): Record<string, string>[] {
  let found: Record<string, string>[] = [{}]
  for (const [name, bound] of Object.entries(bounds)) {
    if (typeof bound === 'number' || found.length * bound.length > MAX_INITIAL_SERIES) return []
    found = found.flatMap((labels) => bound.map((value) => ({ ...labels, [name]: value })))
  }
  return found
}

/** A process may create an application twice (tests, restart): the later metric replaces the earlier one. */
function replacingName(name: string): string {
  registry.removeSingleMetric(PREFIX + name)
  return PREFIX + name
}

/** Undefined when reading fails or times out. */
async function sampleOf<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await withTimeout(async () => read(), SAMPLE_TIMEOUT_MS, 'reading the gauge')
  } catch {
    return undefined
  }
}

/** The labels and the value of a time series. */
export type Series<L extends LabelBounds> = readonly [labels: Labels<L>, value: number]

export interface CounterMetric<L extends LabelBounds> {
  inc(labels: Labels<L>, by?: number): void
}
export interface GaugeMetric<L extends LabelBounds> {
  set(labels: Labels<L>, value: number): void
}
export interface HistogramMetric<L extends LabelBounds> {
  observe(labels: Labels<L>, value: number): void
}

/** Metrics named `session_service_<name>`. Labels are bounded and never contain an id of a session or connection. */
export const metrics = {
  counter<L extends LabelBounds = Record<never, never>>(
    name: string,
    { help, labels }: Described<L>,
  ): CounterMetric<L> {
    const counter = new Counter({ name: replacingName(name), help, labelNames: namesOf(labels), registers: [registry] })
    const bind = bounded(boundsOf(labels))
    // Prometheus sees an increase only between two values: without the zero it would miss the first failure.
    for (const series of combinations(boundsOf(labels))) counter.inc(series, 0)
    return { inc: (given, by = 1) => counter.inc(bind(given), by) }
  },

  gauge<L extends LabelBounds = Record<never, never>>(name: string, { help, labels }: Described<L>): GaugeMetric<L> {
    const gauge = new Gauge({ name: replacingName(name), help, labelNames: namesOf(labels), registers: [registry] })
    const bind = bounded(boundsOf(labels))
    return { set: (given, value) => gauge.set(bind(given), value) }
  },

  /** A gauge that is read at each scrape; the scrape omits it when it is undefined or reading fails. */
  sampled(name: string, help: string, read: () => number | undefined | Promise<number | undefined>): void {
    new Gauge({
      name: replacingName(name),
      help,
      registers: [registry],
      async collect() {
        const value = await sampleOf(read)
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  },

  /** A gauge with labels that is read at each scrape; the scrape omits it when reading fails. */
  sampledSeries<L extends LabelBounds>(
    name: string,
    { help, labels }: Described<L>,
    read: () => Iterable<Series<L>> | Promise<Iterable<Series<L>>>,
  ): void {
    const bind = bounded(boundsOf(labels))
    new Gauge({
      name: replacingName(name),
      help,
      labelNames: namesOf(labels),
      registers: [registry],
      async collect() {
        const series = (await sampleOf(read)) ?? []
        // Without an interruption, for scrapes at the same time. Values whose labels became `other` are added.
        this.reset()
        for (const [given, value] of series) this.inc(bind(given), value)
      },
    })
  },

  /** `buckets` have the unit of the name, which should be seconds or bytes. */
  histogram<L extends LabelBounds = Record<never, never>>(
    name: string,
    { help, labels, buckets }: Described<L> & { buckets: readonly number[] },
  ): HistogramMetric<L> {
    const histogram = new Histogram({
      name: replacingName(name),
      help,
      labelNames: namesOf(labels),
      buckets: [...buckets],
      registers: [registry],
    })
    const bind = bounded(boundsOf(labels))
    return { observe: (given, value) => histogram.observe(bind(given), value) }
  },
}
