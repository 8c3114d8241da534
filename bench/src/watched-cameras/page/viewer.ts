import type { Session, Stream } from '@session-service/client'
import { parameter, stage } from '../../join/page/stopwatch.js'

interface Library {
  Session: typeof Session
}

/** The pictures and sounds of one camera on the page. Times are those of `performance.now()`, ms. */
export interface Watched {
  /** The length of all pauses between two pictures, ms. */
  pauses: number[]
  flashes: number[]
  beeps: number[]
}

declare global {
  interface Window {
    ready: boolean
    /** Joins with the token of the page and watches each camera. */
    watch(): Promise<void>
    /** By connection. */
    watched(): Record<string, Watched>
  }
}

const BRIGHT = 190
const LOUD = 0.02
/** A beep is shorter than the time from the end of one to the begin of the next. */
const QUIET_S = 0.3

/** Posts the time of each begin of a sound, s of the audio context. */
const LISTENER = `registerProcessor('beeps', class extends AudioWorkletProcessor {
  loudAt = -1
  process([[samples]]) {
    if (!samples) return true
    let sum = 0
    for (const sample of samples) sum += sample * sample
    if (Math.sqrt(sum / samples.length) < ${LOUD}) return true
    if (currentTime - this.loudAt > ${QUIET_S}) this.port.postMessage(currentTime)
    this.loudAt = currentTime
    return true
  }
})`

const audio = new AudioContext({ sampleRate: 48_000, latencyHint: 'interactive' })
const cameras = new Map<string, Watched>()

/** When the speaker plays what the audio context computes at this time, on the clock of the page, ms. */
function playedAt(seconds: number): number {
  const { contextTime = 0, performanceTime = 0 } = audio.getOutputTimestamp()
  return performanceTime + (seconds - contextTime) * 1_000
}

function listen(track: MediaStreamTrack, seen: Watched): void {
  const listener = new AudioWorkletNode(audio, 'beeps')
  listener.port.addEventListener('message', ({ data }) => seen.beeps.push(playedAt(data as number)))
  listener.port.start()
  audio.createMediaStreamSource(new MediaStream([track])).connect(listener)
}

function look(video: HTMLVideoElement, seen: Watched): void {
  const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
  if (!context) throw new Error('the canvas has no 2D context')
  let [wasBright, lastAt] = [true, 0]
  const picture: VideoFrameRequestCallback = (_now, { expectedDisplayTime }) => {
    context.drawImage(video, 0, 0, 1, 1)
    const isBright = (context.getImageData(0, 0, 1, 1).data[0] ?? 0) > BRIGHT
    if (isBright && !wasBright) seen.flashes.push(expectedDisplayTime)
    if (lastAt > 0) seen.pauses.push(expectedDisplayTime - lastAt)
    ;[wasBright, lastAt] = [isBright, expectedDisplayTime]
    video.requestVideoFrameCallback(picture)
  }
  video.requestVideoFrameCallback(picture)
}

async function watchCamera(session: Session, stream: Stream): Promise<void> {
  const seen: Watched = { pauses: [], flashes: [], beeps: [] }
  cameras.set(stream.connection.connectionId, seen)
  const { videos, mediaStream } = await session.subscribe(stream, stage())
  const [video] = videos
  if (!video) throw new Error('the camera has no video element')
  look(video, seen)
  const [sound] = mediaStream.getAudioTracks()
  if (sound) listen(sound, seen)
}

const { Session: OurSession } = (await import(parameter('library'))) as Library
await audio.audioWorklet.addModule(URL.createObjectURL(new Blob([LISTENER], { type: 'text/javascript' })))

window.watch = async () => {
  await audio.resume()
  const session = new OurSession()
  session.on('streamCreated', ({ stream }) => void watchCamera(session, stream))
  await session.connect(parameter('token'))
}
window.watched = () => Object.fromEntries(cameras)
window.ready = true
