import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ClipOptions,
  makeCameraClip,
  makeCertificate,
  RtspServer,
  type RtspServerOptions,
} from '@session-service/testing'

/** How a camera sends its media and protects it. */
interface Kind {
  clip: ClipOptions
  access?: 'Basic' | 'Digest' | 'rtsps'
}

const KINDS: Readonly<Record<string, Kind>> = {
  'H.264 and AAC': { clip: { video: 'h264', audio: 'aac' } },
  'H.264 and PCMA': { clip: { video: 'h264', audio: 'pcma' } },
  'H.265 and AAC': { clip: { video: 'h265', audio: 'aac' } },
  'MJPEG and PCMA': { clip: { video: 'mjpeg', audio: 'pcma' } },
  'B-frames and AAC': { clip: { video: 'h264-b-frames', audio: 'aac' } },
  'H.264 without sound': { clip: { video: 'h264' } },
  'H.264 and Opus, Digest': { clip: { video: 'h264', audio: 'opus' }, access: 'Digest' },
  'H.264 and AAC, rtsps': { clip: { video: 'h264', audio: 'aac' }, access: 'rtsps' },
}
const PASSWORD = 'geheim'

export interface Camera {
  name: string
  rtspUri: string
  hasSound: boolean
}

/** Starts a server for each camera. `certificate` is the file that the media node has to trust. */
export async function startCameras(
  folder: string,
  cleanUp: AsyncDisposableStack,
): Promise<{ cameras: Camera[]; certificate: string }> {
  const tls = await makeCertificate(folder)
  const start = async ([name, { clip, access }]: [string, Kind]): Promise<Camera> => {
    const own = join(folder, name)
    mkdirSync(own)
    const kinds = clip.audio ? (['video', 'audio'] as const) : (['video'] as const)
    const options: RtspServerOptions = { clips: { camera: { file: await makeCameraClip(own, clip), kinds } } }
    if (access === 'rtsps') options.tls = tls
    else if (access) options.credentials = { user: 'admin', password: PASSWORD, scheme: access }
    const server = await RtspServer.start(options)
    cleanUp.defer(() => server.stop())
    const user = options.credentials ? `admin:${PASSWORD}@` : ''
    return { name, rtspUri: server.url('camera').replace('://', `://${user}`), hasSound: clip.audio !== undefined }
  }
  const cameras: Camera[] = []
  for (const kind of Object.entries(KINDS)) cameras.push(await start(kind))
  return { cameras, certificate: tls.cert }
}
