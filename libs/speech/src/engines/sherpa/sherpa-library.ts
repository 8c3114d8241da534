import { createRequire } from 'node:module'

interface Audio {
  sampleRate: number
  /** From -1 to 1. */
  samples: Float32Array
}

interface OfflineResult {
  text: string
  lang?: string
  tokens?: string[]
  timestamps?: number[]
}

interface OfflineStream {
  acceptWaveform(audio: Audio): void
}

export interface OfflineRecognizer {
  createStream(): OfflineStream
  decodeAsync(stream: OfflineStream): Promise<OfflineResult>
}

export interface OnlineResult {
  text: string
  tokens?: string[]
  /** Seconds since `start_time`. */
  timestamps?: number[]
  start_time?: number
}

export interface OnlineStream {
  acceptWaveform(audio: Audio): void
}

export interface OnlineRecognizer {
  createStream(): OnlineStream
  isReady(stream: OnlineStream): boolean
  decode(stream: OnlineStream): void
  isEndpoint(stream: OnlineStream): boolean
  reset(stream: OnlineStream): void
  getResult(stream: OnlineStream): OnlineResult
}

/** A voice-activity detector. It takes windows of 512 samples. */
export interface Vad {
  acceptWaveform(samples: Float32Array): void
  isDetected(): boolean
  isEmpty(): boolean
  /** `start` counts samples since the last reset. */
  front(enableExternalBuffer?: boolean): { start: number; samples: Float32Array }
  pop(): void
  reset(): void
}

/** The used part of npm's sherpa-onnx-node, which has no types. */
export interface SherpaLibrary {
  OfflineRecognizer: { createAsync(config: object): Promise<OfflineRecognizer> }
  OnlineRecognizer: new (config: object) => OnlineRecognizer
  Vad: new (config: object, bufferSeconds: number) => Vad
}

/** @throws Error when the optional package is not installed for this platform */
export function openSherpaLibrary(): SherpaLibrary {
  try {
    return createRequire(import.meta.url)('sherpa-onnx-node') as SherpaLibrary
  } catch (error) {
    throw new Error(
      `sherpa-onnx cannot be loaded, install the npm package sherpa-onnx-node for ${process.platform}-${process.arch}`,
      { cause: error },
    )
  }
}
