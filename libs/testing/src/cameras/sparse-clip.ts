import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const RATE = 15

export interface SparseClipOptions {
  /** The distance of key frames. */
  seconds: number
  kbps: number
}

/** Encodes H.264 with one key frame at the begin, as cameras do that send one every few seconds. Played in a loop. */
export async function makeSparseClip(folder: string, { seconds, kbps }: SparseClipOptions): Promise<string> {
  const file = join(folder, `sparse-${seconds}-${kbps}.mkv`)
  const input = ['-f', 'lavfi', '-i', `testsrc2=size=640x360:rate=${RATE},noise=alls=40:allf=t`]
  // Small key frames, so that no socket of the camera overflows.
  const bitrate = ['-b:v', `${kbps}k`, '-maxrate', `${kbps}k`, '-bufsize', `${kbps / 8}k`]
  const codec = '-c:v libx264 -preset ultrafast -tune zerolatency -profile:v baseline -pix_fmt yuv420p -sc_threshold 0'
  const distance = ['-g', String(seconds * RATE), '-keyint_min', String(seconds * RATE)]
  await run('ffmpeg', [
    '-y',
    '-v',
    'error',
    ...input,
    '-t',
    String(seconds),
    ...codec.split(' '),
    ...bitrate,
    ...distance,
    file,
  ])
  return file
}
