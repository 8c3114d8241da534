import type { BrowserContext } from 'playwright-core'

/**
 * A quarter of the pixels and a third of the pictures a second, and sound as captured: most of the CPU time of a page goes into
 * its video and the processing of its sound. A page whose address has `capture=full` captures what it requests.
 */
export const useSmallCapture = (context: BrowserContext): Promise<unknown> =>
  context.addInitScript(() => {
    if (!('mediaDevices' in navigator) || new URLSearchParams(location.search).get('capture') === 'full') return
    const VIDEO = { width: { ideal: 320 }, height: { ideal: 240 }, frameRate: { ideal: 10, max: 10 } }
    const AUDIO = { echoCancellation: false, noiseSuppression: false, autoGainControl: false }
    const { mediaDevices } = navigator
    const capture = mediaDevices.getUserMedia.bind(mediaDevices)
    const smaller = (
      wanted: boolean | MediaTrackConstraints,
      limits: MediaTrackConstraints,
    ): MediaTrackConstraints => ({
      ...(typeof wanted === 'object' && wanted),
      ...limits,
    })
    mediaDevices.getUserMedia = ({ video, audio, ...others } = {}) =>
      capture({
        ...others,
        ...(video && { video: smaller(video, VIDEO) }),
        ...(audio && { audio: smaller(audio, AUDIO) }),
      })
  })
