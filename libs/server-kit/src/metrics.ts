import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

const PREFIX = 'session_service_'
const OTHER = 'other'
/** Whoever fetches the metrics waits this long for a sampled gauge, ms. */
const SAMPLE_MS = 1_000

/** The values a label may take: the ones named, or as many different ones as the number says; the rest is `other`. */
export type LabelBounds = Readonly<Record<string, readonly string[] | number>>
export type Labels<L extends LabelBounds> = { readonly [N in keyof L]: string }

interface Described<L extends LabelBounds> {
  help: string
  labels?: L
}

export const registry = new Registry()
// Finer than this the measuring itself keeps an idle process busy.
collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })

/** Keeps the number of time series finite whatever comes in. */
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
  return (labels) => Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, keep(name, value)]))
}

const namesOf = (labels: LabelBounds | undefined): string[] => Object.keys(labels ?? {})
const boundsOf = <L extends LabelBounds>(labels: L | undefined): L => labels ?? ({} as L)

/** A process may build an application twice (tests, restart): the later one takes over the name. */
function freshName(name: string): string {
  registry.removeSingleMetric(PREFIX + name)
  return PREFIX + name
}

/** What is read, unless that fails or takes too long. */
async function sampleOf(read: () => number | Promise<number>): Promise<number | undefined> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, SAMPLE_MS, undefined)))
  try {
    return await Promise.race([read(), tooLate])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

export interface CounterMetric<L extends LabelBounds> {
  inc(labels: Labels<L>, by?: number): void
}
export interface GaugeMetric<L extends LabelBounds> {
  set(labels: Labels<L>, value: number): void
}
export interface HistogramMetric<L extends LabelBounds> {
  observe(labels: Labels<L>, value: number): void
}

/** Metrics named `session_service_<name>`; labels are bounded, and never hold an id of a session or connection. */
export const metrics = {
  counter<L extends LabelBounds = Record<never, never>>(
    name: string,
    { help, labels }: Described<L>,
  ): CounterMetric<L> {
    const counter = new Counter({ name: freshName(name), help, labelNames: namesOf(labels), registers: [registry] })
    const bind = bounded(boundsOf(labels))
    return { inc: (given, by = 1) => counter.inc(bind(given), by) }
  },

  gauge<L extends LabelBounds = Record<never, never>>(name: string, { help, labels }: Described<L>): GaugeMetric<L> {
    const gauge = new Gauge({ name: freshName(name), help, labelNames: namesOf(labels), registers: [registry] })
    const bind = bounded(boundsOf(labels))
    return { set: (given, value) => gauge.set(bind(given), value) }
  },

  /** A gauge that is read when the metrics are fetched; it has no value then when it cannot be read. */
  sampled(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name: freshName(name),
      help,
      registers: [registry],
      async collect() {
        const value = await sampleOf(read)
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  },

  /** `buckets` in the unit of the name, which should be seconds or bytes. */
  histogram<L extends LabelBounds = Record<never, never>>(
    name: string,
    { help, labels, buckets }: Described<L> & { buckets: readonly number[] },
  ): HistogramMetric<L> {
    const histogram = new Histogram({
      name: freshName(name),
      help,
      labelNames: namesOf(labels),
      buckets: [...buckets],
      registers: [registry],
    })
    const bind = bounded(boundsOf(labels))
    return { observe: (given, value) => histogram.observe(bind(given), value) }
  },
}
