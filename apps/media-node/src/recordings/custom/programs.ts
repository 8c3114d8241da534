import { ServiceError } from '@session-service/contract'
import { which } from '@session-service/server-kit'

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

export interface Programs {
  chromium: string
  xvfb: string
  pulseaudio: string
  ffmpeg: string
}

/** The programs that record a layout page. @throws ServiceError DISABLED with the names of missing programs */
export function findPrograms(env: NodeJS.ProcessEnv = process.env, find = which): Programs {
  const found = {
    chromium: env.CHROMIUM_BIN ? find(env.CHROMIUM_BIN) : CHROMIUM_NAMES.map(find).find(Boolean),
    xvfb: find('Xvfb'),
    pulseaudio: find('pulseaudio'),
    ffmpeg: find('ffmpeg'),
  }
  const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [name] : []))
  const { chromium, xvfb, pulseaudio, ffmpeg } = found
  if (chromium !== undefined && xvfb !== undefined && pulseaudio !== undefined && ffmpeg !== undefined) {
    return { chromium, xvfb, pulseaudio, ffmpeg }
  }
  const what = missing.join(', ')
  throw new ServiceError('DISABLED', `recordingLayout: the media node cannot record CUSTOM layouts without ${what}`)
}
