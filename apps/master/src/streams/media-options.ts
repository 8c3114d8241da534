import type { MediaOptions, SignallingCall, StreamKind } from '@session-service/contract'

type Publication = Pick<
  SignallingCall<'publish'>,
  'tracks' | 'audioActive' | 'videoActive' | 'typeOfVideo' | 'frameRate' | 'videoDimensions'
>

/** The contract's mediaOptions of a new stream: what is about a kind of media only with that kind. */
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

/** The part of a stream's id that tells what it is; a stream without video is a microphone. */
export const streamKindOf = ({ hasVideo, typeOfVideo }: MediaOptions): StreamKind =>
  hasVideo ? KIND_OF_VIDEO[typeOfVideo ?? 'CAMERA'] : 'MIC'

type Changes = Pick<SignallingCall<'changeStream'>, 'audioActive' | 'videoActive' | 'videoDimensions' | 'frameRate'>

/** Of the changes a publisher tells, those that apply to the stream and differ from what is known. */
export function effectiveChanges(known: MediaOptions, told: Changes): Changes {
  const { hasAudio, hasVideo } = known
  const changes: Changes = {}
  if (hasAudio && told.audioActive !== undefined && told.audioActive !== known.audioActive)
    changes.audioActive = told.audioActive
  if (!hasVideo) return changes
  if (told.videoActive !== undefined && told.videoActive !== known.videoActive) changes.videoActive = told.videoActive
  if (told.videoDimensions !== undefined && told.videoDimensions !== known.videoDimensions)
    changes.videoDimensions = told.videoDimensions
  if (told.frameRate !== undefined && told.frameRate !== known.frameRate) changes.frameRate = told.frameRate
  return changes
}
