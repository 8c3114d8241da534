// Only `startTracing` imports this module, and only when tracing is on: it loads the SDK.
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Span,
  type SpanContext,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { parseTraceparent } from './traceparent.js'
import type { ActiveSpan, SpanAttributes, SpanOptions, TraceBackend } from './trace.js'

export interface OpenTelemetryOptions {
  /** The URL to which spans are posted. */
  url: string
  headers: Record<string, string>
  /** The share of new traces that are recorded, 0 to 1. */
  ratio: number
  service: { name: string; version: string; instanceId: string }
  /** Called when the collector fails first, and after it worked again. */
  onFailure: (error: Error | undefined) => void
  /** The longest time that a span waits for others of its batch, ms. */
  exportEveryMs?: number
}

/** Spans that wait for the collector, at most; later ones are dropped. */
const MAX_QUEUED = 4_096
const MAX_BATCH = 512
const EXPORT_EVERY_MS = 1_000
const EXPORT_TIMEOUT_MS = 5_000
const EXPORTED = 0

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

class RecordedSpan implements ActiveSpan {
  constructor(readonly span: Span) {}

  get position() {
    const { traceId, spanId, traceFlags } = this.span.spanContext()
    return { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }
  }

  get isRecording(): boolean {
    return this.span.isRecording()
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes)
  }

  fail(code: string): void {
    this.span.setAttribute('error.type', code)
    this.span.setStatus({ code: SpanStatusCode.ERROR })
  }

  end(): void {
    this.span.end()
  }
}

function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const position = parseTraceparent(traceparent)
  if (!position) return undefined
  const { traceId, spanId, isSampled } = position
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true }
}

/** Reports only the first failure of an outage. */
function reporting(exporter: SpanExporter, onFailure: OpenTelemetryOptions['onFailure']): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const code: number = result.code
        const failed = code !== EXPORTED
        if (failed !== isFailing) onFailure(failed ? (result.error ?? new Error('unknown reason')) : undefined)
        isFailing = failed
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  }
}

function createProvider(options: OpenTelemetryOptions): TracerProvider {
  const { url, headers, ratio, service, onFailure, exportEveryMs = EXPORT_EVERY_MS } = options
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 2 })
  return new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'session-service',
      'service.name': service.name,
      'service.version': service.version,
      'service.instance.id': service.instanceId,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, onFailure),
        maxQueueSize: MAX_QUEUED,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: exportEveryMs,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
}

/** Records spans with the SDK of OpenTelemetry and sends them to a collector. */
export function openTelemetry(options: OpenTelemetryOptions): { backend: TraceBackend; stop: () => Promise<void> } {
  const provider = createProvider(options)
  const tracer = provider.getTracer('session-service')
  const start = (name: string, { kind, attributes, parent, link, startedAt }: SpanOptions, current?: ActiveSpan) => {
    const remote = contextOf(parent)
    const parentContext = remote
      ? trace.setSpanContext(ROOT_CONTEXT, remote)
      : current instanceof RecordedSpan
        ? trace.setSpan(ROOT_CONTEXT, current.span)
        : ROOT_CONTEXT
    const linked = contextOf(link)
    const span = tracer.startSpan(
      name,
      {
        kind: KINDS[kind ?? 'internal'],
        ...(attributes && { attributes }),
        ...(linked && { links: [{ context: linked }] }),
        ...(startedAt !== undefined && { startTime: startedAt }),
      },
      parentContext,
    )
    return new RecordedSpan(span)
  }
  return { backend: { start }, stop: () => provider.shutdown() }
}
