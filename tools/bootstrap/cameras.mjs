import { ensureOptional, GSTREAMER, programPackages, tryOutElements } from './native-program.mjs'

const CAMERA = {
  name: 'camera-reader',
  variable: 'CAMERA_BIN',
  folder: 'apps/media-node/camera',
  libraries: ['gstreamer-1.0', 'gstreamer-video-1.0', 'gstreamer-rtsp-1.0', 'gio-2.0', 'gio-unix-2.0'],
  // GStreamer's plugins use its functions instead of those of libc: `camera/guard.c`.
  options: ['-rdynamic'],
  /** Its GStreamer elements, and TLS. */
  runtime: [...GSTREAMER, 'glib-networking'],
  why: 'cameras on the network need GStreamer',
  without: 'cameras on the network are disabled',
  tryOut: tryOutElements,
}

/** The path of a program that reads cameras. */
export const ensureCameras = (context, settings) => ensureOptional(context, CAMERA, settings)

/** The packages that the program needs here, whether they are installed or not. */
export const cameraPackages = (context) => programPackages(context, CAMERA)
