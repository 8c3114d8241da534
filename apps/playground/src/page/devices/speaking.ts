const INTERVAL_MS = 120
const SPEAKING_LEVEL = 0.02
/** Short pauses between words count as speaking. */
const HOLD_MS = 600

interface WatchedStream {
  readonly source: MediaStreamAudioSourceNode
  readonly analyser: AnalyserNode
  readonly samples: Float32Array<ArrayBuffer>
  readonly listener: (level: number, speaking: boolean) => void
  loudUntil: number
}

let audio: AudioContext | undefined
const watched = new Set<WatchedStream>()
let timer: ReturnType<typeof setInterval> | undefined

function measureLevels(): void {
  const now = performance.now()
  for (const one of watched) {
    one.analyser.getFloatTimeDomainData(one.samples)
    const power = one.samples.reduce((sum, sample) => sum + sample * sample, 0) / one.samples.length
    const level = Math.sqrt(power)
    if (level > SPEAKING_LEVEL) one.loudUntil = now + HOLD_MS
    one.listener(level, now < one.loudUntil)
  }
}

/** Reports the level of a stream, 0 to 1, and whether it contains speech. The returned function stops it. */
export function watchSpeaking(stream: MediaStream, listener: WatchedStream['listener']): () => void {
  if (stream.getAudioTracks().length === 0) return () => {}
  audio ??= new AudioContext()
  void audio.resume().catch(() => {})
  const source = audio.createMediaStreamSource(stream)
  const analyser = new AnalyserNode(audio, { fftSize: 512 })
  source.connect(analyser)
  const one = { source, analyser, samples: new Float32Array(analyser.fftSize), listener, loudUntil: 0 }
  watched.add(one)
  timer ??= setInterval(measureLevels, INTERVAL_MS)
  return () => {
    watched.delete(one)
    source.disconnect()
    if (watched.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
