import { ensureProgram, programKey, programOfEnvironment, programPackages } from './native-program.mjs'
import { Stop } from './stop.mjs'

const CAMERA = {
  name: 'camera-reader',
  variable: 'CAMERA_BIN',
  folder: 'apps/media-node/camera',
  files: ['apps/media-node/compositor/events.c', 'apps/media-node/compositor/events.h'],
  libraries: ['gstreamer-1.0', 'gstreamer-video-1.0', 'gstreamer-rtsp-1.0', 'gio-2.0', 'gio-unix-2.0'],
  // GStreamer's plugins use its functions instead of those of libc: `camera/guard.c`.
  options: ['-rdynamic', '-Wall', '-Wextra'],
  /** Its GStreamer elements, and TLS. */
  runtime: [
    'gstreamer1.0-plugins-base',
    'gstreamer1.0-plugins-good',
    'gstreamer1.0-plugins-bad',
    'gstreamer1.0-plugins-ugly',
    'gstreamer1.0-libav',
    'glib-networking',
  ],
  why: 'cameras on the network need GStreamer',
  tryOut,
}

export const cameraKey = (from) => programKey(CAMERA.name, from)

/**
 * The path of a program that reads cameras. With `optional` a failure disables cameras with a warning, and the result is
 * undefined.
 */
export async function ensureCameras(context, { optional }) {
  const given = await programOfEnvironment(context, CAMERA)
  try {
    return await ensureProgram(context, CAMERA, given)
  } catch (error) {
    if (!optional || !(error instanceof Stop)) throw error
    context.report.warn(`cameras on the network are disabled: ${error.message}`)
    return undefined
  }
}

/** The packages that the program needs here, whether they are installed or not. */
export const cameraPackages = (context) => programPackages(context, CAMERA)

/** Names the GStreamer elements that are missing here. */
async function tryOut(talk) {
  const output = await talk('check\nstop\n')
  const missing = /"event":"checked","missing":"(.*)"/.exec(output)?.[1]
  if (missing === undefined) return 'it ended early.'
  return missing === '' ? undefined : `GStreamer lacks ${missing}.`
}
