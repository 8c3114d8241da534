import { ensureOptional, GSTREAMER, programPackages, tryOutElements } from './native-program.mjs'

const PROCESSOR = {
  name: 'media-processor',
  variable: 'MEDIA_PROCESSOR_BIN',
  folder: 'apps/media-node/processor',
  libraries: ['gstreamer-1.0', 'gstreamer-video-1.0'],
  options: ['-fno-math-errno'],
  runtime: GSTREAMER,
  why: 'transcoding and filters need GStreamer',
  without: 'transcoding and filters are disabled',
  tryOut: tryOutElements,
}

/** The path of a program that transcodes and filters streams. */
export const ensureMediaProcessor = (context, settings) => ensureOptional(context, PROCESSOR, settings)

/** The packages that the program needs here, whether they are installed or not. */
export const mediaProcessorPackages = (context) => programPackages(context, PROCESSOR)
