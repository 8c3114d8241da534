let audio: AudioContext | undefined

function blankVideo(): MediaStreamTrack | undefined {
  const canvas = document.createElement('canvas')
  // Without a context Firefox captures nothing.
  canvas.getContext('2d')
  return canvas.captureStream(0).getVideoTracks()[0]
}

function blankAudio(): MediaStreamTrack | undefined {
  audio ??= new AudioContext()
  return audio.createMediaStreamDestination().stream.getAudioTracks()[0]
}

/** The track, or one that gives nothing: browsers begin to send none that has ended, such as that of an unplugged device. */
export function liveOrBlank(track: MediaStreamTrack): MediaStreamTrack {
  if (track.readyState === 'live') return track
  return (track.kind === 'video' ? blankVideo() : blankAudio()) ?? track
}
