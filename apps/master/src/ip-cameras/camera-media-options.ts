import type { CameraTracks, MediaOptions } from '@session-service/contract'
import type { Camera } from '../connections/camera.js'

/** The media options of a camera's stream. Its frame rate and size are not known, and may change at any time. */
export const cameraMediaOptions = (
  { adaptativeBitrate, onlyPlayWithSubscribers, networkCache }: Camera,
  { hasAudio, hasVideo }: CameraTracks,
): MediaOptions => ({
  hasAudio,
  ...(hasAudio && { audioActive: true }),
  hasVideo,
  ...(hasVideo && { videoActive: true, typeOfVideo: 'IPCAM', frameRate: null, videoDimensions: null }),
  filter: {},
  adaptativeBitrate,
  onlyPlayWithSubscribers,
  networkCache,
})
