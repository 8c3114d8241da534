import { ensureProgram, programKey, programOfEnvironment, programPackages } from './native-program.mjs'
import { Stop } from './stop.mjs'

const PROCESSOR = {
  name: 'media-processor',
  variable: 'MEDIA_PROCESSOR_BIN',
  folder: 'apps/media-node/processor',
  files: ['apps/media-node/compositor/events.c', 'apps/media-node/compositor/events.h'],
  libraries: ['gstreamer-1.0', 'gstreamer-video-1.0'],
  options: ['-fno-math-errno', '-Wall', '-Wextra'],
  /** Its GStreamer elements. */
  runtime: [
    'gstreamer1.0-plugins-base',
    'gstreamer1.0-plugins-good',
    'gstreamer1.0-plugins-bad',
    'gstreamer1.0-plugins-ugly',
    'gstreamer1.0-libav',
  ],
  why: 'transcoding and filters need GStreamer',
  tryOut,
}

export const mediaProcessorKey = (from) => programKey(PROCESSOR.name, from)

/**
 * The path of a program that transcodes and filters streams. With `optional` a failure disables both with a warning, and
 * the result is undefined.
 */
export async function ensureMediaProcessor(context, { optional }) {
  const given = await programOfEnvironment(context, PROCESSOR)
  try {
    return await ensureProgram(context, PROCESSOR, given)
  } catch (error) {
    if (!optional || !(error instanceof Stop)) throw error
    context.report.warn(`transcoding and filters are disabled: ${error.message}`)
    return undefined
  }
}

/** The packages that the program needs here, whether they are installed or not. */
export const mediaProcessorPackages = (context) => programPackages(context, PROCESSOR)

/** Names the GStreamer elements that are missing here. */
async function tryOut(talk) {
  const output = await talk('check\nstop\n')
  const missing = /"event":"checked","missing":"(.*)"/.exec(output)?.[1]
  if (missing === undefined) return 'it ended early.'
  return missing === '' ? undefined : `GStreamer lacks ${missing}.`
}
