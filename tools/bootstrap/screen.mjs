import { installPackages, installSentence } from './apt.mjs'
import { which } from './exec.mjs'
import { findChromium } from './programs.mjs'
import { Stop } from './stop.mjs'

const PACKAGES = { Xvfb: 'xvfb', pulseaudio: 'pulseaudio' }
const WHY = 'recording custom layouts needs a screen and a loudspeaker'

/**
 * Prepares Xvfb and PulseAudio, with which the pages of custom layouts are recorded. With `optional` a failure is a
 * warning, and without a browser nothing is installed.
 */
export async function ensureScreen(context, { optional, find = which, browser = findChromium }) {
  if (optional && !browser(context.env)) return
  try {
    await context.report.step('Xvfb and PulseAudio', async (say) => {
      const missing = missingPrograms(context.env, find)
      if (missing.length === 0) return { ready: true }
      if (!find('apt-get', context.env)) throw new Stop(installSentence('none', missing, WHY))
      await installPackages(context, missing, { why: WHY, say })
      if (missingPrograms(context.env, find).length > 0)
        throw new Stop(`the packages ${missing.join(' ')} are installed but hold no such programs.`)
      return {}
    })
  } catch (error) {
    if (!optional || !(error instanceof Stop)) throw error
    context.report.warn(`custom layouts are not recorded: ${error.message}`)
  }
}

/** The packages that `ensureScreen` would install. */
export const screenPackages = (env, { optional }) => (optional && !findChromium(env) ? [] : missingPrograms(env, which))

const missingPrograms = (env, find) =>
  Object.entries(PACKAGES).flatMap(([program, name]) => (find(program, env) === undefined ? [name] : []))
