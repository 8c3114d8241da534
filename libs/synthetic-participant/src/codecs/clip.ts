import { readFile } from 'node:fs/promises'

/** An encoded picture. */
export interface ClipFrame {
  readonly data: Buffer
  readonly key: boolean
}

/** A pre-encoded scene that is played in a loop, so that sending it needs no encoder. */
export interface Clip {
  /** The VP8 frames. */
  readonly frames: readonly ClipFrame[]
  readonly fps: number
  readonly width: number
  readonly height: number
  /** The Opus packets, 20 ms each. */
  readonly packets: readonly Buffer[]
}

const IVF_FRAME_HEADER_BYTES = 12
const OGG_HEADER_BYTES = 27
/** The number of Opus header packets: identification and comment. */
const OPUS_HEADERS = 2
const AUDIO_PACKET_MS = 20

/** Reads VP8 video from an `.ivf` file and audio of the same duration from an `.ogg` file with Opus packets of 20 ms. */
export async function readClip(ivf: string, ogg: string): Promise<Clip> {
  const [video, audio] = await Promise.all([readFile(ivf), readFile(ogg)])
  return makeClip(parseIvf(video), parseOgg(audio).slice(OPUS_HEADERS))
}

/** Cuts video and audio to whole seconds of the shorter one, so that they stay synchronous in each loop. */
export function makeClip({ frames, ...picture }: Omit<Clip, 'packets'>, packets: readonly Buffer[]): Clip {
  const frameMs = 1000 / picture.fps
  const seconds = Math.floor(Math.min(frames.length * frameMs, packets.length * AUDIO_PACKET_MS) / 1000)
  if (seconds < 1 || !frames[0]?.key) throw new Error('a clip must last at least a second and start with a key frame')
  return {
    ...picture,
    frames: frames.slice(0, seconds * picture.fps),
    packets: packets.slice(0, (seconds * 1000) / AUDIO_PACKET_MS),
  }
}

export function parseIvf(file: Buffer): Omit<Clip, 'packets'> {
  if (file.toString('latin1', 0, 4) !== 'DKIF' || file.toString('latin1', 8, 12) !== 'VP80')
    throw new Error('not an IVF file of VP8')
  const frames: ClipFrame[] = []
  for (let at = file.readUInt16LE(6); at + IVF_FRAME_HEADER_BYTES <= file.length;) {
    const size = file.readUInt32LE(at)
    const data = file.subarray(at + IVF_FRAME_HEADER_BYTES, (at += IVF_FRAME_HEADER_BYTES + size))
    frames.push({ data, key: ((data[0] ?? 1) & 1) === 0 })
  }
  const fps = file.readUInt32LE(16) / file.readUInt32LE(20)
  return { frames, fps, width: file.readUInt16LE(12), height: file.readUInt16LE(14) }
}

/** The packets of an Ogg file with one stream. */
export function parseOgg(file: Buffer): Buffer[] {
  const packets: Buffer[] = []
  let begun: Buffer[] = []
  for (let at = 0; at + OGG_HEADER_BYTES <= file.length;) {
    if (file.toString('latin1', at, at + 4) !== 'OggS') throw new Error(`not an Ogg page at ${at}`)
    const sizes = file.subarray(at + OGG_HEADER_BYTES, at + OGG_HEADER_BYTES + (file[at + OGG_HEADER_BYTES - 1] ?? 0))
    at += OGG_HEADER_BYTES + sizes.length
    for (const size of sizes) {
      begun.push(file.subarray(at, (at += size)))
      // After a segment of full length the packet continues in the next segment.
      if (size === 255) continue
      packets.push(Buffer.concat(begun))
      begun = []
    }
  }
  return packets
}

/** Maps the time since the start, ms, to a part of the clip. */
export const dueIn = (count: number, sinceMs: number, eachMs: number): number => Math.round(sinceMs / eachMs) % count

/** Plays the frames of a clip, without frames that depend on a skipped one. */
export class ClipPlayer {
  #sent = -1
  readonly #clip: Clip

  constructor(clip: Clip) {
    this.#clip = clip
  }

  /** Returns the due frame, unless it depends on a frame that was not sent. The clip decides on key frames. */
  at(sinceMs: number): ClipFrame | undefined {
    const { frames, fps } = this.#clip
    const due = dueIn(frames.length, sinceMs, 1000 / fps)
    const frame = frames[due]
    if (!frame || (!frame.key && due !== this.#sent + 1)) return undefined
    this.#sent = due
    return frame
  }
}
