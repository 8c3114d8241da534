import type { types } from 'mediasoup'
import { ServiceError, type NativeLayout, type RecordingJob } from '@session-service/contract'
import type { Size } from './layout.js'
import { AUDIO_KBPS, videoKbps } from './quality.js'

/** The jitter buffer: the network jitter has been removed before, and loopback has little. */
const LATENCY_MS = 200
/** The compositor ends when it waits for a frame and does nothing for this long: its pipeline hangs. */
const STALL_MS = 60_000

/** The codecs of videos that the compositor decodes. */
const CODECS = new Set(['VP8', 'VP9', 'H264'])

export interface CompositionSettings {
  layout: NativeLayout
  size: Size
  frameRate: number
  /** The name of the file. */
  file: 'composed.mp4' | 'composed.webm'
  kinds: readonly types.MediaKind[]
}

/** @throws ServiceError INVALID when the compositor does not make such a recording */
export function settingsOf({ output, hasAudio, hasVideo }: RecordingJob): CompositionSettings {
  if (output.kind !== 'COMPOSED') throw new ServiceError('INVALID', `output: ${output.kind} is not composed here`)
  const { layout, width, height, frameRate } = output
  return {
    layout,
    // Chroma subsampling requires even sides: the last line of an odd side is dropped.
    size: { width: width & ~1, height: height & ~1 },
    frameRate,
    file: hasVideo ? 'composed.mp4' : 'composed.webm',
    kinds: [...(hasAudio ? (['audio'] as const) : []), ...(hasVideo ? (['video'] as const) : [])],
  }
}

/** The command that opens the file at `path`, live or of a log. */
export function openCommand({ size, frameRate, kinds }: CompositionSettings, path: string): (string | number)[] {
  const has = (['video', 'audio'] as const).map((kind) => Number(kinds.includes(kind)))
  const kbps = [videoKbps(size, frameRate), AUDIO_KBPS]
  return [size.width, size.height, frameRate, ...has, ...kbps, LATENCY_MS, STALL_MS, path]
}

interface Sent {
  codec: string
  payloadType: number
}

/** The words that describe the tracks of a stream to the compositor; a payload type of -1: without this kind. */
export function trackWords(
  video: Sent | undefined,
  audio: Sent | undefined,
): { codec: string; video: number; audio: number } {
  const codec = video?.codec.toUpperCase() ?? ''
  const isKnown = CODECS.has(codec)
  return {
    codec: isKnown ? codec : 'VP8',
    video: isKnown && video ? video.payloadType : -1,
    audio: audio?.payloadType ?? -1,
  }
}
