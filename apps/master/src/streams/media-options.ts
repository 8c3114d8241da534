import type { MediaOptions, SignallingCall, StreamKind } from '@session-service/contract'

type Publication = Pick<
  SignallingCall<'publish'>,
  'tracks' | 'audioActive' | 'videoActive' | 'typeOfVideo' | 'frameRate' | 'videoDimensions'
>

/** The contract's mediaOptions of a new stream; the properties of a kind of media only with a track of that kind. */
export function mediaOptionsOf(publication: Publication): MediaOptions {
  const hasAudio = publication.tracks.some(({ kind }) => kind === 'audio')
  const hasVideo = publication.tracks.some(({ kind }) => kind === 'video')
  const { audioActive, videoActive, typeOfVideo, frameRate, videoDimensions } = publication
  return {
    hasAudio,
    ...(hasAudio && { audioActive }),
    hasVideo,
    ...(hasVideo && { videoActive, typeOfVideo, frameRate, videoDimensions }),
    filter: {},
  }
}

const KIND_OF_VIDEO = { CAMERA: 'CAM', SCREEN: 'SCR', CUSTOM: 'CUS', IPCAM: 'IPC' } as const

/** The kind in a stream's id; a stream without video is a microphone. */
export const streamKindOf = ({ hasVideo, typeOfVideo }: MediaOptions): StreamKind =>
  hasVideo ? KIND_OF_VIDEO[typeOfVideo ?? 'CAMERA'] : 'MIC'

/** The type of the video of a published stream, from its id; undefined for a microphone. */
export const typeOfVideoIn = (streamId: string): keyof typeof KIND_OF_VIDEO | undefined =>
  typesOfVideo.find((type) => streamId.startsWith(`str_${KIND_OF_VIDEO[type]}_`))
const typesOfVideo = Object.keys(KIND_OF_VIDEO) as (keyof typeof KIND_OF_VIDEO)[]

type Changes = Pick<SignallingCall<'changeStream'>, 'audioActive' | 'videoActive' | 'videoDimensions' | 'frameRate'>

/** The wanted changes that apply to the stream and differ from its current options. */
export function effectiveChanges(current: MediaOptions, wanted: Changes): Changes {
  const { hasAudio, hasVideo } = current
  const changes: Changes = {}
  if (hasAudio && wanted.audioActive !== undefined && wanted.audioActive !== current.audioActive)
    changes.audioActive = wanted.audioActive
  if (!hasVideo) return changes
  if (wanted.videoActive !== undefined && wanted.videoActive !== current.videoActive)
    changes.videoActive = wanted.videoActive
  if (wanted.videoDimensions !== undefined && wanted.videoDimensions !== current.videoDimensions)
    changes.videoDimensions = wanted.videoDimensions
  if (wanted.frameRate !== undefined && wanted.frameRate !== current.frameRate) changes.frameRate = wanted.frameRate
  return changes
}
