import type { NodeConfig } from '@session-service/config'
import { withTimeout } from '../async/index.js'
import { useTraceBackend } from './trace.js'

export interface TracingOptions {
  config: Pick<NodeConfig, 'SERVICE_TRACING_ENDPOINT' | 'SERVICE_TRACING_HEADERS' | 'SERVICE_TRACING_SAMPLING'>
  service: { name: string; version: string; instanceId: string }
  logger: { log(message: string): void; warn(fields: object, message: string): void }
}

/** How long the shutdown waits until the collector has the last spans, ms. */
const STOP_MS = 2_000
const PATH = '/v1/traces'

/** Collectors take spans at this path; a URL may also name it. */
const tracesUrl = (endpoint: string): string => (endpoint.endsWith(PATH) ? endpoint : endpoint + PATH)

const headersOf = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const),
  )

/** Starts to record spans; loads nothing without an endpoint. Returns a function that sends the last spans and stops. */
export async function startTracing({ config, service, logger }: TracingOptions): Promise<() => Promise<void>> {
  const endpoint = config.SERVICE_TRACING_ENDPOINT
  if (endpoint === '') return () => Promise.resolve()
  // Dynamic: without tracing the SDK costs neither time nor memory.
  const { openTelemetry } = await import('./open-telemetry.js')
  const { backend, stop } = openTelemetry({
    url: tracesUrl(endpoint),
    headers: headersOf(config.SERVICE_TRACING_HEADERS),
    ratio: config.SERVICE_TRACING_SAMPLING / 100,
    service,
    onFailure: (error) =>
      error
        ? logger.warn({ err: error }, 'sending spans to the collector failed, spans are dropped until it works again')
        : logger.log('the collector takes spans again'),
  })
  useTraceBackend(backend)
  return async () => {
    useTraceBackend(undefined)
    // A collector that is down must not delay the exit.
    await withTimeout(stop, STOP_MS, 'sending the last spans').catch(() => undefined)
  }
}
