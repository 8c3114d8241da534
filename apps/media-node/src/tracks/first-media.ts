import { startChildSpan } from '@session-service/server-kit'
import type { types } from 'mediasoup'

/** The members that a producer and a consumer have in common. */
interface Media {
  readonly kind: types.MediaKind
  readonly closed: boolean
  readonly observer: { once(event: 'close', listener: () => void): unknown }
  once(event: 'trace', listener: () => void): unknown
  enableTraceEvent(kinds: 'rtp'[]): Promise<void>
}

/**
 * Records a span from the command that created a track until its first packet. Outside of a recorded trace it does
 * nothing, so that the worker reports no packets.
 */
export function traceFirstMedia(media: Media, direction: 'published' | 'received', connectionId: string): void {
  const attributes = { 'connection.id': connectionId, 'track.kind': media.kind }
  const span = startChildSpan(`first media ${direction}`, { attributes })
  if (!span) return
  const closed = (): void => {
    if (!span.isRecording) return
    span.fail('NO_MEDIA')
    span.end()
  }
  if (media.closed) return closed()
  media.observer.once('close', closed)
  media.once('trace', () => {
    span.end()
    void media.enableTraceEvent([]).catch(() => undefined)
  })
  // Fails only when the track is closed, which ends the span.
  media.enableTraceEvent(['rtp']).catch(() => undefined)
}
