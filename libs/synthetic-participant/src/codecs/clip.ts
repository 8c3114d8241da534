import { readFile } from 'node:fs/promises'

/** One picture, encoded. */
export interface ClipFrame {
  readonly data: Buffer
  readonly key: boolean
}

/** A scene that was encoded before, so that sending it costs nothing; it is played again and again. */
export interface Clip {
  /** VP8. */
  readonly frames: readonly ClipFrame[]
  readonly fps: number
  readonly width: number
  readonly height: number
  /** Opus, 20 ms each. */
  readonly packets: readonly Buffer[]
}

const IVF_FRAME_HEADER_BYTES = 12
const OGG_HEADER_BYTES = 27
/** What is said of the stream, and of the song. */
const OPUS_HEADERS = 2
const AUDIO_PACKET_MS = 20

/** Reads a picture in VP8 from an `.ivf` and its sound from an `.ogg` of Opus packets of 20 ms, equally long. */
export async function readClip(ivf: string, ogg: string): Promise<Clip> {
  const [video, audio] = await Promise.all([readFile(ivf), readFile(ogg)])
  return makeClip(parseIvf(video), parseOgg(audio).slice(OPUS_HEADERS))
}

/** As long as the shorter of both, so that they stay together in each round. */
export function makeClip({ frames, ...picture }: Omit<Clip, 'packets'>, packets: readonly Buffer[]): Clip {
  const frameMs = 1000 / picture.fps
  const seconds = Math.floor(Math.min(frames.length * frameMs, packets.length * AUDIO_PACKET_MS) / 1000)
  if (seconds < 1 || !frames[0]?.key) throw new Error('a clip is a second long at least and begins with a key frame')
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
      // A piece of full length is followed by more of the same packet.
      if (size === 255) continue
      packets.push(Buffer.concat(begun))
      begun = []
    }
  }
  return packets
}

/** Says which part of a clip is due at a time since its beginning, ms. */
export const dueIn = (count: number, sinceMs: number, eachMs: number): number => Math.round(sinceMs / eachMs) % count

/** Plays a clip's pictures: nothing is sent that could not be decoded because one before it was left out. */
export class ClipPlayer {
  #sent = -1

  constructor(private readonly clip: Clip) {}

  /** The picture that is due, unless it depends on one that was not sent. Key frames come in their turn. */
  at(sinceMs: number): ClipFrame | undefined {
    const { frames, fps } = this.clip
    const due = dueIn(frames.length, sinceMs, 1000 / fps)
    const frame = frames[due]
    if (!frame || (!frame.key && due !== this.#sent + 1)) return undefined
    this.#sent = due
    return frame
  }
}
