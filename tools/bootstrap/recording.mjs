import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureOptional, GSTREAMER, programKey, programPackages } from './native-program.mjs'
import { ensureFfmpeg } from './programs.mjs'

const COMPOSITOR = {
  name: 'compositor',
  variable: 'COMPOSITOR_BIN',
  folder: 'apps/media-node/compositor',
  libraries: ['gstreamer-1.0', 'gstreamer-video-1.0'],
  options: [],
  /** Its GStreamer elements, and a font for names. */
  runtime: [...GSTREAMER, 'gstreamer1.0-x', 'fonts-dejavu-core'],
  why: 'recording needs GStreamer',
  otherwise: 'set SERVICE_RECORDING=false',
  without: 'recording is disabled',
  /** Recording needs it as well. */
  prepare: ensureFfmpeg,
  tryOut,
}

export const compositorKey = (from) => programKey(COMPOSITOR.name, from)

/** Prepares ffmpeg and returns the path of a compositor that runs here. */
export const ensureRecording = (context, settings) => ensureOptional(context, COMPOSITOR, settings)

/** The packages that a compositor needs here, whether they are installed or not. */
export const compositorPackages = (context) => programPackages(context, COMPOSITOR)

/** Records a short file, so that a missing element is reported now and by its name. */
async function tryOut(talk, folder) {
  const file = join(folder, 'trial.mp4')
  const lines = [
    ['start', 160, 120, 10, 1, 1, 100, 64, 100, 10_000, file],
    ['tile', 'name', 0, 0, 80, 60, 1, 'Name'],
    ['stop'],
  ]
  const output = await talk(lines.map((words) => `${words.join('\t')}\n`).join(''))
  const message = /"event":"error".*"message":"(.*)"/.exec(output)?.[1]
  if (message !== undefined || !output.includes('"event":"stopped"')) return message ?? 'it ended early.'
  rmSync(file)
  return undefined
}
