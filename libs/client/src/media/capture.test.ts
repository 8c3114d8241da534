import { describe, expect, it } from '@jest/globals'
import { type CaptureOptions, audioConstraints, captureTracks, mediaErrorOf, videoConstraints } from './capture.js'

const named = (name: string): Error => Object.assign(new Error('of the browser'), { name })

describe('constraints', () => {
  it('prefers a size and a rate, and requires a device', () => {
    expect(videoConstraints({})).toEqual({
      width: { ideal: 960 },
      height: { ideal: 540 },
      frameRate: { ideal: 30 },
    })
    expect(videoConstraints({ video: 'cam1', resolution: '1280x720', frameRate: 15 })).toEqual({
      width: { ideal: 1280 },
      height: { ideal: 720 },
      frameRate: { ideal: 15 },
      deviceId: { exact: 'cam1' },
    })
    expect(audioConstraints('mic1')).toMatchObject({ deviceId: { exact: 'mic1' }, echoCancellation: true })
    expect(audioConstraints(true)).not.toHaveProperty('deviceId')
    expect(audioConstraints(false)).toBeUndefined()
  })

  it.each(['640', '640 x 480', 'x', '-1x480', '1000000x1'])('rejects the resolution "%s"', (resolution) => {
    expect(() => videoConstraints({ resolution })).toThrow(`resolution: "${resolution}" is not of the form 640x480`)
  })
})

describe('mediaErrorOf', () => {
  it.each([
    ['NotAllowedError', false, 'DEVICE_ACCESS_DENIED'],
    ['NotAllowedError', true, 'SCREEN_CAPTURE_DENIED'],
    ['NotFoundError', false, 'DEVICE_NOT_FOUND'],
    ['OverconstrainedError', false, 'DEVICE_NOT_FOUND'],
    ['NotReadableError', false, 'DEVICE_IN_USE'],
    ['SomethingNewError', false, 'CAPTURE_FAILED'],
  ] as const)('%s, screen %s: %s', (name, screen, code) => {
    const cause = named(name)
    const error = mediaErrorOf(cause, screen)
    expect(error).toMatchObject({ name: 'MediaError', code, cause })
    expect(mediaErrorOf(error, screen)).toBe(error)
  })

  it.each([
    ['an error of Safari that is no Error', { name: 'OverconstrainedError' }, 'DEVICE_NOT_FOUND'],
    ['a value without a name', undefined, 'CAPTURE_FAILED'],
  ])('%s', (_, cause, code) => {
    expect(mediaErrorOf(cause, false)).toMatchObject({ code, cause })
  })
})

describe('captureTracks', () => {
  it.each<[string, CaptureOptions]>([['rejects options without any source', { audio: false, video: false }]])(
    '%s',
    async (_, options) => {
      await expect(captureTracks(options)).rejects.toThrow('nothing to publish')
    },
  )

  it('opens no microphone for a screen without an audio source', async () => {
    const screen = { kind: 'video' }
    const getDisplayMedia = async () => ({ getVideoTracks: () => [screen], getTracks: () => [screen] })
    Object.defineProperty(navigator, 'mediaDevices', { value: { getDisplayMedia }, configurable: true })
    try {
      const none = { audio: undefined } as unknown as CaptureOptions
      for (const options of [{}, none, { audio: false }])
        expect(await captureTracks({ screen: true, ...options })).toEqual([{ track: screen, opened: true }])
    } finally {
      Reflect.deleteProperty(navigator, 'mediaDevices')
    }
  })

  it('rejects with INSECURE_CONTEXT on an insecure page, where browsers hide all devices', async () => {
    await expect(captureTracks({})).rejects.toMatchObject({ code: 'INSECURE_CONTEXT' })
    await expect(captureTracks({ screen: true })).rejects.toMatchObject({ code: 'INSECURE_CONTEXT' })
  })
})
