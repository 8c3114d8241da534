import { expect, it } from '@jest/globals'
import { wantedTracks } from './wanted-tracks.js'

const [audio, video] = [
  { kind: 'audio', paused: false },
  { kind: 'video', paused: false },
] as const
const muted = <T extends object>(track: T) => ({ ...track, paused: true })
const both = { hasAudio: true, hasVideo: true }

it.each([
  ['both', [audio, video], both, ['audio', 'video']],
  ['one that has no video', [audio], both, ['audio']],
  ['one whose microphone is off', [muted(audio), video], both, ['video']],
  ['one whose camera is off', [audio, muted(video)], both, ['audio']],
  ['one that sends nothing', [muted(audio), muted(video)], both, []],
  ['the sound alone', [audio, video], { hasAudio: true, hasVideo: false }, ['audio']],
  ['the picture alone', [audio, video], { hasAudio: false, hasVideo: true }, ['video']],
  ['nothing of one that has not what is wanted', [audio], { hasAudio: false, hasVideo: true }, []],
  ['nothing of one whose wanted track is muted', [audio, muted(video)], { hasAudio: false, hasVideo: true }, []],
  ['nothing of none', [], both, []],
] as const)('a file begins with %s', (_, tracks, job, kinds) => {
  expect(wantedTracks(tracks, job).kinds).toEqual(kinds)
})

it.each([
  ['goes on when nothing changed', [audio, video], ['audio', 'video'], true],
  ['goes on when a track is muted', [audio, muted(video)], ['audio', 'video'], true],
  ['goes on when all is muted', [muted(audio), muted(video)], ['audio', 'video'], true],
  ['ends when a camera is turned on that it has not', [audio, video], ['audio'], false],
  ['ends when a microphone is turned on that it has not', [audio, video], ['video'], false],
  ['ends with the wish to be recorded', [], ['audio', 'video'], false],
] as const)('a file that has begun %s', (_, tracks, begun, goesOn) => {
  expect(wantedTracks(tracks, both).keep(begun)).toBe(goesOn)
})
