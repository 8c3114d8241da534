const LOOK_MS = 120
const LOUD = 0.02
/** Somebody who pauses between words goes on speaking. */
const HOLD_MS = 600

interface Watched {
  readonly source: MediaStreamAudioSourceNode
  readonly analyser: AnalyserNode
  readonly samples: Float32Array<ArrayBuffer>
  readonly listener: (level: number, speaking: boolean) => void
  loudUntil: number
}

let audio: AudioContext | undefined
const watched = new Set<Watched>()
let timer: ReturnType<typeof setInterval> | undefined

function look(): void {
  const now = performance.now()
  for (const one of watched) {
    one.analyser.getFloatTimeDomainData(one.samples)
    const power = one.samples.reduce((sum, sample) => sum + sample * sample, 0) / one.samples.length
    const level = Math.sqrt(power)
    if (level > LOUD) one.loudUntil = now + HOLD_MS
    one.listener(level, now < one.loudUntil)
  }
}

/** Tells how loud a stream is, 0 to 1, and whether somebody speaks in it. The returned function ends it. */
export function watchSpeaking(stream: MediaStream, listener: Watched['listener']): () => void {
  if (stream.getAudioTracks().length === 0) return () => {}
  audio ??= new AudioContext()
  void audio.resume().catch(() => {})
  const source = audio.createMediaStreamSource(stream)
  const analyser = new AnalyserNode(audio, { fftSize: 512 })
  source.connect(analyser)
  const one = { source, analyser, samples: new Float32Array(analyser.fftSize), listener, loudUntil: 0 }
  watched.add(one)
  timer ??= setInterval(look, LOOK_MS)
  return () => {
    watched.delete(one)
    source.disconnect()
    if (watched.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
