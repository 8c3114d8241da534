import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MARK_BITS, MARK_COLUMNS, type Size } from './pictures.js'

const run = promisify(execFile)

export const CLIP: Size & { fps: number; kbps: number } = { width: 640, height: 360, fps: 25, kbps: 700 }
/** At most as many pictures as the marks can number. */
const SECONDS = 5
/** Pictures between two key frames: a new subscriber waits for half of them on average. */
const KEY_FRAME_INTERVAL = 12

/** Paths of the files of a scene. */
export interface ClipFiles {
  ivf: string
  ogg: string
  /** Both tracks in one file, for the remuxer. */
  webm: string
}

/**
 * Encodes scenes with motion everywhere and with camera noise, in advance so that sending them needs no encoder. Each
 * picture carries its number, from 1.
 */
export const makeClips = (folder: string, count: number): Promise<ClipFiles[]> =>
  Promise.all(Array.from({ length: count }, (_, nth) => makeClip(join(folder, `scene${nth}`), nth)))

async function makeClip(path: string, nth: number): Promise<ClipFiles> {
  const { width, height, fps, kbps } = CLIP
  const files = { ivf: `${path}.ivf`, ogg: `${path}.ogg`, webm: `${path}.webm` }
  const size = `size=${width}x${height}:rate=${fps}`
  const scenes = [`testsrc2=${size}`, `mandelbrot=${size}:start_scale=0.6:end_scale=0.02:end_pts=400`] as const
  const picture = `${scenes[nth % 2]},format=yuv420p,hue=h=${nth * 70},noise=alls=5:allf=t,${marks(width)}`
  const sound = `sine=frequency=${300 + 120 * nth}:sample_rate=48000,tremolo=f=3`
  const inputs = ['-f', 'lavfi', '-i', picture, '-f', 'lavfi', '-i', sound]
  const video = `-t ${SECONDS} -c:v libvpx -deadline realtime -cpu-used 8 -b:v ${kbps}k -maxrate ${kbps}k -g ${KEY_FRAME_INTERVAL} -auto-alt-ref 0`
  const audio = `-t ${SECONDS} -c:a libopus -b:a 32k -frame_duration 20 -ac 2`
  const outputs = ['-map', '0:v', ...video.split(' '), files.ivf, '-map', '1:a', ...audio.split(' '), files.ogg]
  await ffmpeg(...inputs, ...outputs)
  await ffmpeg('-i', files.ivf, '-i', files.ogg, '-c', 'copy', files.webm)
  return files
}

function marks(width: number): string {
  const side = width / MARK_COLUMNS
  const bits = Array.from({ length: MARK_BITS }, (_, bit) => {
    const box = (colour: string, when: string): string =>
      `drawbox=x=${bit * side}:y=0:w=${side}:h=${side}:color=${colour}:t=fill:enable='${when}'`
    const isSet = `gt(bitand(n+1\\,${2 ** bit})\\,0)`
    return `${box('black', '1')},${box('white', isSet)}`
  })
  return bits.join(',')
}

const ffmpeg = (...args: readonly string[]): Promise<unknown> =>
  run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args])
