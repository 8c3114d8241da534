import type { Publisher, PublisherOptions, Session } from '@session-service/client'
import { parameter } from '../../join/page/stopwatch.js'

interface Library {
  Session: typeof Session
}

declare global {
  interface Window {
    ready: boolean
    /** Joins every session it was given a token of, and publishes the same to each. */
    enter(): Promise<void>
    mute(muted: boolean): Promise<void>
    share(shared: boolean): Promise<void>
    leave(): Promise<void>
  }
}

const PICTURE = { width: 640, height: 360 }
const FPS = 25
const LOOK_MS = 10
const CLAP_S = 0.2
/** Of a person whom nobody is to mistake for the clapper. */
const QUIET = 0.002
const PITCH_HZ = 880

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
  if (!context) throw new Error('a canvas that cannot be painted on')
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
  if (!track) throw new Error('a canvas without a track')
  return track
}

/** For a fifth of each second of the sound's clock the picture is white and there is a tone. */
function clapper(): MediaStreamTrack {
  const context = paint('black', name)
  setInterval(() => fill(context, audio.currentTime % 1 < CLAP_S ? 'white' : 'black', name), LOOK_MS)
  return videoOf(context)
}

/** What is shared: it moves, and is never like the clapper. */
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
  tone.frequency.value = PITCH_HZ
  tone.connect(gain).connect(out)
  tone.start()
  gain.gain.value = kind === 'clapper' ? 0 : QUIET
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
  if (!track) throw new Error('a sound without a track')
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
