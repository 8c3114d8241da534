import type { MediaOptions, PublishedTrack } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { effectiveChanges, mediaOptionsOf, streamKindOf } from './media-options.js'

const track = (kind: 'audio' | 'video'): PublishedTrack => ({
  kind,
  rtpParameters: { codecs: [{ mimeType: `${kind}/x`, payloadType: 100, clockRate: 90_000 }], encodings: [{ ssrc: 1 }] },
})
const publication = {
  audioActive: true,
  videoActive: false,
  typeOfVideo: 'SCREEN',
  frameRate: 30,
  videoDimensions: '{"width":640,"height":480}',
} as const

describe('mediaOptionsOf', () => {
  it.each<[string, PublishedTrack[], MediaOptions]>([
    [
      'has only audio properties for a stream with audio alone',
      [track('audio')],
      { hasAudio: true, audioActive: true, hasVideo: false, filter: {} },
    ],
    [
      'has only video properties for a stream with video alone',
      [track('video')],
      {
        hasAudio: false,
        hasVideo: true,
        videoActive: false,
        typeOfVideo: 'SCREEN',
        frameRate: 30,
        videoDimensions: publication.videoDimensions,
        filter: {},
      },
    ],
    [
      'has the properties of both kinds for a stream with both',
      [track('video'), track('audio')],
      { hasAudio: true, hasVideo: true, filter: {}, ...publication },
    ],
  ])('%s', (_, tracks, expected) => {
    expect(mediaOptionsOf({ tracks, ...publication })).toEqual(expected)
  })
})

describe('streamKindOf', () => {
  it.each<[MediaOptions, string]>([
    [{ hasAudio: true, hasVideo: false, filter: {} }, 'MIC'],
    [{ hasAudio: true, hasVideo: true, typeOfVideo: 'CAMERA', filter: {} }, 'CAM'],
    [{ hasAudio: false, hasVideo: true, typeOfVideo: 'SCREEN', filter: {} }, 'SCR'],
    [{ hasAudio: false, hasVideo: true, typeOfVideo: 'CUSTOM', filter: {} }, 'CUS'],
  ])('of %j is %s', (options, kind) => {
    expect(streamKindOf(options)).toBe(kind)
  })
})

describe('effectiveChanges', () => {
  const both: MediaOptions = {
    hasAudio: true,
    audioActive: true,
    hasVideo: true,
    videoActive: true,
    frameRate: 30,
    filter: {},
  }
  it.each<[string, MediaOptions, Parameters<typeof effectiveChanges>[1], ReturnType<typeof effectiveChanges>]>([
    [
      'keeps properties that differ',
      both,
      { audioActive: false, frameRate: 15 },
      { audioActive: false, frameRate: 15 },
    ],
    ['drops properties that have the value already', both, { audioActive: true, videoActive: true, frameRate: 30 }, {}],
    ['drops audio of a stream without audio', { ...both, hasAudio: false }, { audioActive: false }, {}],
    ['drops video of a stream without video', { ...both, hasVideo: false }, { videoActive: false, frameRate: 1 }, {}],
    [
      'keeps new dimensions',
      both,
      { videoDimensions: '{"width":1,"height":1}' },
      { videoDimensions: '{"width":1,"height":1}' },
    ],
  ])('%s', (_, known, changes, expected) => {
    expect(effectiveChanges(known, changes)).toEqual(expected)
  })
})
