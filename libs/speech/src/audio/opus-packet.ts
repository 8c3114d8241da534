/** Properties of an Opus packet that its first bytes contain, without decoding (RFC 6716, section 3). */
export interface OpusPacketInfo {
  /** The duration, in samples at 48 kHz. */
  samples: number
  /** The encoder signals silence (DTX): the packet contains no audio. */
  isDtx: boolean
  /** The encoder's own voice activity; undefined where the packet does not carry it (CELT mode, several frames). */
  hasVoice: boolean | undefined
}

/** Durations of frames, in samples at 48 kHz, by the lowest bits of the configuration. */
const SILK_SAMPLES = [480, 960, 1920, 2880] as const
const HYBRID_SAMPLES = [480, 960] as const
const CELT_SAMPLES = [120, 240, 480, 960] as const
const FIRST_HYBRID = 12
const FIRST_CELT = 16
/** 120 ms. */
const MAX_SAMPLES = 5760
const SILK_FRAME_SAMPLES = 960
/** A packet that is no longer has a header only; WebRTC encoders send the first and then stop sending. */
const DTX_BYTES = 2

/** Undefined for a malformed packet. */
export function opusPacketInfo(payload: Uint8Array): OpusPacketInfo | undefined {
  const toc = payload[0]
  if (toc === undefined) return undefined
  const configuration = toc >> 3
  const frameSamples = frameDuration(configuration)
  const code = toc & 3
  const frames = code === 0 ? 1 : code < 3 ? 2 : (payload[1] ?? 0) & 0x3f
  const samples = frames * frameSamples
  if (frames === 0 || samples > MAX_SAMPLES) return undefined
  if (payload.length <= DTX_BYTES) return { samples, isDtx: true, hasVoice: false }
  return {
    samples,
    isDtx: false,
    hasVoice:
      code === 0 && configuration < FIRST_CELT ? silkVoice(payload[1] ?? 0, frameSamples, (toc & 4) !== 0) : undefined,
  }
}

function frameDuration(configuration: number): number {
  if (configuration < FIRST_HYBRID) return SILK_SAMPLES[configuration & 3] ?? 0
  if (configuration < FIRST_CELT) return HYBRID_SAMPLES[configuration & 1] ?? 0
  return CELT_SAMPLES[configuration & 3] ?? 0
}

/**
 * A SILK frame starts with one voice-activity bit for each 20 ms and one bit for redundancy, of the middle and then of the
 * side channel. They are the first symbols of the range coder and equally probable, so they are the highest bits.
 */
function silkVoice(first: number, frameSamples: number, isStereo: boolean): boolean {
  const count = Math.max(1, frameSamples / SILK_FRAME_SAMPLES)
  const flags = (skip: number): boolean => ((first >> (8 - count - skip)) & ((1 << count) - 1)) !== 0
  return flags(0) || (isStereo && flags(count + 1))
}
