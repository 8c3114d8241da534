import { expect, it } from '@jest/globals'
import { findPrograms } from './programs.js'

const machine =
  (...names: string[]) =>
  (name: string): string | undefined =>
    names.includes(name) ? `/bin/${name}` : undefined

it('programs are found by their usual names', () => {
  const found = findPrograms({}, machine('google-chrome', 'Xvfb', 'pulseaudio', 'ffmpeg'))
  expect(found).toEqual({
    chromium: '/bin/google-chrome',
    xvfb: '/bin/Xvfb',
    pulseaudio: '/bin/pulseaudio',
    ffmpeg: '/bin/ffmpeg',
  })
})

it.each([
  [{}, ['Xvfb', 'pulseaudio', 'ffmpeg'], /without chromium$/],
  [{ CHROMIUM_BIN: '/nowhere' }, ['chromium', 'Xvfb', 'pulseaudio', 'ffmpeg'], /without chromium$/],
  [{}, ['chromium', 'ffmpeg'], /without xvfb, pulseaudio$/],
])('%j and %j are insufficient: the error names the missing programs', (env, names, message) => {
  const fault = { code: 'DISABLED', message: expect.stringMatching(message) }
  expect(() => findPrograms(env, machine(...names))).toThrow(expect.objectContaining(fault))
})
