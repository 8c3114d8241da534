let audio: AudioContext | undefined

function blankVideo(): MediaStreamTrack | undefined {
  const canvas = document.createElement('canvas')
  // Firefox captures no frames from a canvas without a context.
  canvas.getContext('2d')
  return canvas.captureStream(0).getVideoTracks()[0]
}

function blankAudio(): MediaStreamTrack | undefined {
  audio ??= new AudioContext()
  return audio.createMediaStreamDestination().stream.getAudioTracks()[0]
}

/** Returns a live track, or a blank one for an ended track (an unplugged device), which a browser refuses to send. */
export function liveOrBlank(track: MediaStreamTrack): MediaStreamTrack {
  if (track.readyState === 'live') return track
  return (track.kind === 'video' ? blankVideo() : blankAudio()) ?? track
}
