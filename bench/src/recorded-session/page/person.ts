import type { Publisher, PublisherOptions, Session } from '@session-service/client'
import { parameter } from '../../join/page/stopwatch.js'

interface Library {
  Session: typeof Session
}

declare global {
  interface Window {
    ready: boolean
    /** Joins the session of each token and publishes the same stream to each of them. */
    enter(): Promise<void>
    mute(muted: boolean): Promise<void>
    share(shared: boolean): Promise<void>
    leave(): Promise<void>
  }
}

const PICTURE = { width: 640, height: 360 }
const FPS = 25
const REPAINT_INTERVAL_MS = 10
const CLAP_S = 0.2
/** Gain of the other participants: too quiet for the beep detection to mistake them for the clapper. */
const QUIET_GAIN = 0.002
const TONE_HZ = 880

const kind = parameter('kind')
const name = parameter('name')
const audio = new AudioContext({ sampleRate: 48_000 })
const sessions: Session[] = []
const cameras: Publisher[] = []
const screens: Publisher[] = []

function paint(color: string, text: string): CanvasRenderingContext2D {
  const canvas = Object.assign(document.createElement('canvas'), PICTURE)
  document.body.append(canvas)
  const context = canvas.getContext('2d')
  if (!context) throw new Error('the canvas has no 2D context')
  fill(context, color, text)
  return context
}

function fill(context: CanvasRenderingContext2D, color: string, text: string): void {
  context.fillStyle = color
  context.fillRect(0, 0, PICTURE.width, PICTURE.height)
  context.fillStyle = '#888'
  context.font = '40px sans-serif'
  context.fillText(text, 20, 60)
}

const videoOf = (context: CanvasRenderingContext2D): MediaStreamTrack => {
  const [track] = context.canvas.captureStream(FPS).getVideoTracks()
  if (!track) throw new Error('the canvas stream has no video track')
  return track
}

/** Shows white while the tone plays: for the first fifth of each second of the audio clock. */
function clapper(): MediaStreamTrack {
  const context = paint('black', name)
  setInterval(() => fill(context, audio.currentTime % 1 < CLAP_S ? 'white' : 'black', name), REPAINT_INTERVAL_MS)
  return videoOf(context)
}

/** The shared screen: it changes all the time and never flashes like the clapper. */
function screen(): MediaStreamTrack {
  const context = paint('#234', 'a shared screen')
  let at = 0
  setInterval(() => {
    fill(context, '#234', `a shared screen, line ${++at}`)
    context.fillRect(20, 100 + ((at * 20) % 200), 400, 10)
  }, 200)
  return videoOf(context)
}

function sound(): MediaStreamTrack {
  const [tone, gain, out] = [audio.createOscillator(), audio.createGain(), audio.createMediaStreamDestination()]
  tone.frequency.value = TONE_HZ
  tone.connect(gain).connect(out)
  tone.start()
  gain.gain.value = kind === 'clapper' ? 0 : QUIET_GAIN
  if (kind === 'clapper') {
    let next = Math.ceil(audio.currentTime)
    setInterval(() => {
      for (; next < audio.currentTime + 2; next++) {
        gain.gain.setValueAtTime(0.5, next)
        gain.gain.setValueAtTime(0, next + CLAP_S)
      }
    }, 500)
  }
  const [track] = out.stream.getAudioTracks()
  if (!track) throw new Error('the audio stream has no track')
  return track
}

async function publish(options: PublisherOptions): Promise<Publisher[]> {
  return Promise.all(sessions.map((session) => session.publish(options)))
}

const { Session: OurSession } = (await import(parameter('library'))) as Library

window.enter = async () => {
  await audio.resume()
  for (const token of parameter('tokens').split('|')) {
    const session = new OurSession()
    session.on('streamCreated', ({ stream }) => void session.subscribe(stream, document.body))
    await session.connect(token, { clientData: name })
    sessions.push(session)
  }
  const own = { audio: sound(), simulcast: false }
  if (kind === 'clapper') cameras.push(...(await publish({ ...own, video: clapper(), typeOfVideo: 'CAMERA' })))
  else cameras.push(...(await publish({ ...own, resolution: '640x360', frameRate: FPS })))
}
window.mute = async (muted) => {
  await Promise.all(cameras.flatMap((own) => [own.publishVideo(!muted), own.publishAudio(!muted)]))
}
window.share = async (shared) => {
  if (shared)
    screens.push(...(await publish({ audio: false, video: screen(), typeOfVideo: 'SCREEN', simulcast: false })))
  else await Promise.all(screens.splice(0).map((own) => own.unpublish()))
}
window.leave = async () => {
  await Promise.all(sessions.map((session) => session.disconnect()))
}
window.ready = true
