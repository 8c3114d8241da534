import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger } from '../logging/logger.js'
import {
  type ActiveSpan,
  currentTraceId,
  currentTraceparent,
  failSpan,
  inChildSpan,
  inSpan,
  type SpanOptions,
  startChildSpan,
  startSpan,
  useTraceBackend,
  withoutSpan,
  withSpan,
} from './trace.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** Keeps spans; the tests of `open-telemetry` and of the system use the SDK. */
class KeptSpan implements ActiveSpan {
  readonly position
  readonly failures: string[] = []
  isRecording: boolean

  constructor(
    readonly name: string,
    readonly options: SpanOptions,
    readonly parent: ActiveSpan | undefined,
    nth: number,
  ) {
    this.isRecording = options.attributes?.sampled !== false
    this.position = { traceId: TRACE, spanId: String(nth).padStart(16, '0'), isSampled: this.isRecording }
  }

  set(): void {}
  fail(code: string): void {
    this.failures.push(code)
  }
  end(): void {
    this.isRecording = false
  }
}

let spans: KeptSpan[] = []
function recordSpans(): void {
  spans = []
  useTraceBackend({
    start: (name, options, parent) => {
      const span = new KeptSpan(name, options, parent, spans.length + 1)
      spans.push(span)
      return span
    },
  })
}
afterEach(() => useTraceBackend(undefined))

const nameOf = (span: ActiveSpan | undefined): string | undefined => (span instanceof KeptSpan ? span.name : undefined)

describe('without tracing', () => {
  it('work runs without a span, a trace id or a traceparent', async () => {
    const seen = await inSpan('outer', {}, () =>
      inChildSpan('inner', {}, async () => [currentTraceId(), currentTraceparent()]),
    )
    expect(seen).toEqual([undefined, undefined])
    expect([startSpan('one'), startChildSpan('two')]).toEqual([undefined, undefined])
  })
})

describe('with tracing', () => {
  it('a span within another one is its child, also after an await', async () => {
    recordSpans()
    await inSpan('outer', {}, async () => {
      await Promise.resolve()
      await inChildSpan('inner', {}, async () => {
        expect(currentTraceparent()).toBe(`00-${TRACE}-0000000000000002-01`)
      })
      expect(currentTraceparent()).toBe(`00-${TRACE}-0000000000000001-01`)
    })
    expect(spans.map(({ name, parent, isRecording }) => [name, nameOf(parent), isRecording])).toEqual([
      ['outer', undefined, false],
      ['inner', 'outer', false],
    ])
    expect(currentTraceparent()).toBeUndefined()
  })

  it('a failure is recorded by its code, without its message', async () => {
    recordSpans()
    const failing = inSpan('failing', {}, () =>
      Promise.reject(Object.assign(new Error('of alice'), { code: 'CONFLICT' })),
    )
    await expect(failing).rejects.toThrow('of alice')
    await expect(inSpan('broken', {}, () => Promise.reject(new Error('x')))).rejects.toThrow('x')
    await inSpan('handled', {}, async () => failSpan('INVALID'))
    expect(spans.map(({ failures, isRecording }) => [failures, isRecording])).toEqual([
      [['CONFLICT'], false],
      [['INTERNAL'], false],
      [['INVALID'], false],
    ])
  })

  it('child spans exist only within a span that is recorded and has not ended', async () => {
    recordSpans()
    await inChildSpan('outside', {}, async () => undefined)
    await inSpan('unsampled', { attributes: { sampled: false } }, async () => {
      await inChildSpan('within', {}, async () => undefined)
      expect([currentTraceparent(), currentTraceId()]).toEqual([undefined, TRACE])
    })
    const ended = startSpan('ended')
    ended?.end()
    expect(withSpan(ended, () => startChildSpan('late'))).toBeUndefined()
    expect(spans.map(({ name }) => name)).toEqual(['unsampled', 'ended'])
  })

  it('work of several requests together runs outside of the trace that started it', async () => {
    recordSpans()
    await inSpan('outer', {}, async () => {
      expect(await withoutSpan(async () => Promise.resolve().then(currentTraceparent))).toBeUndefined()
      expect(currentTraceparent()).toBeDefined()
    })
  })

  it('log lines within a span have the id of its trace', async () => {
    recordSpans()
    const lines: string[] = []
    const logger = createLogger({ level: 'info', format: 'json', name: 'x', write: (line) => lines.push(line) })
    await inSpan('outer', {}, async () => logger.log('within'))
    logger.log('outside')
    expect(lines.map((line) => (JSON.parse(line) as { traceId?: string }).traceId)).toEqual([TRACE, undefined])
  })
})
