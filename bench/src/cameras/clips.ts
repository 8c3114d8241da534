import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RtspServerOptions } from '@session-service/testing'

const run = promisify(execFile)

export const PICTURES = { width: 1280, height: 720, fps: 25, kbps: 2_000 }
/** The key-frame interval of many cameras, s. */
export const LONG_INTERVAL_S = 10

const { width, height, fps, kbps } = PICTURES
const MOTION = `testsrc2=size=${width}x${height}:rate=${fps}`
const NOISE = 'anoisesrc=color=pink:amplitude=0.2:sample_rate=48000'
const h264 = (interval: number): string =>
  `-c:v libx264 -preset ultrafast -tune zerolatency -profile:v baseline -pix_fmt yuv420p -b:v ${kbps}k -g ${interval}`
const H265 = `-c:v libx265 -preset ultrafast -x265-params log-level=none:bframes=0 -pix_fmt yuv420p -b:v ${kbps}k -g ${fps}`
const AAC = '-c:a aac -b:a 64k -ar 48000 -ac 1'
const OPUS = '-c:a libopus -b:a 64k -ar 48000 -ac 2'

/** The codecs and the length of each clip. */
const CLIPS = {
  /** Both tracks can be copied. */
  copied: [h264(fps), OPUS, 10],
  audio: [h264(fps), AAC, 10],
  video: [H265, OPUS, 6],
  /** A key frame is never far: a client waits for the camera, and not for its key frame. */
  prompt: [h264(5), AAC, 6],
  rare: [h264(fps * LONG_INTERVAL_S), AAC, 2 * LONG_INTERVAL_S],
} as const
export type ClipName = keyof typeof CLIPS

/** Encodes the clips that the cameras send. */
export async function makeClips(folder: string): Promise<RtspServerOptions['clips']> {
  const clips: Record<string, { file: string; kinds: readonly ('video' | 'audio')[] }> = {}
  for (const [name, [video, audio, seconds]] of Object.entries(CLIPS)) {
    const file = join(folder, `${name}.mkv`)
    const sources = ['-f', 'lavfi', '-i', MOTION, '-f', 'lavfi', '-i', NOISE, '-t', String(seconds)]
    await run('ffmpeg', ['-y', '-v', 'error', ...sources, ...`${video} ${audio}`.split(' '), file])
    clips[name] = { file, kinds: ['video', 'audio'] }
  }
  return clips
}
