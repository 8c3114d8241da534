import { monitorEventLoopDelay, type ELDHistogram } from 'node:perf_hooks'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'

/** The interval of the timer with which prom-client measures, ms: it never fires. */
const NEVER_MS = 2 ** 31 - 1

/** The metrics of prom-client with this infix, in ns. */
const FIGURES: Readonly<Record<string, [help: string, of: (durations: ELDHistogram) => number]>> = {
  min: ['The shortest iteration of the event loop since the last scrape', ({ min }) => min],
  max: ['The longest iteration of the event loop since the last scrape', ({ max }) => max],
  mean: ['The mean iteration of the event loop since the last scrape', ({ mean }) => mean],
  stddev: ['The standard deviation of the iterations of the event loop since the last scrape', ({ stddev }) => stddev],
  p50: [
    'Half of the iterations of the event loop since the last scrape took at most this',
    (all) => all.percentile(50),
  ],
  p90: [
    '90 % of the iterations of the event loop since the last scrape took at most this',
    (all) => all.percentile(90),
  ],
  p99: [
    '99 % of the iterations of the event loop since the last scrape took at most this',
    (all) => all.percentile(99),
  ],
}

/**
 * The default metrics of the process. Those of the event loop measure each of its iterations, without the time in which it
 * waits for events: the timer of prom-client would wake up an idle process ten times a second.
 */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER_MS })
  const durations = monitorEventLoopDelay({ samplePerIteration: true })
  durations.enable()
  const gauges = Object.entries(FIGURES).map(([infix, [help, of]], at) => {
    const name = `nodejs_eventloop_lag_${infix}_seconds`
    register.removeSingleMetric(name)
    // The first one reads all, at the same time.
    const gauge: Gauge = new Gauge({ name, help, registers: [register], ...(at === 0 && { collect: () => read() }) })
    return { gauge, of }
  })
  const read = (): void => {
    const isEmpty = durations.count === 0
    for (const { gauge, of } of gauges) gauge.set(isEmpty ? 0 : of(durations) / 1e9)
    durations.reset()
  }
}
