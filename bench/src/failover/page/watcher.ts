import type { Session } from '@session-service/client'
import { parameter, stage } from '../../join/page/stopwatch.js'

/** Available in pages of Chromium only, and missing in TypeScript's DOM types. */
declare const MediaStreamTrackProcessor: new (init: { track: MediaStreamTrack }) => {
  readable: ReadableStream<VideoFrame>
}

/** `picture`: the first decoded picture of a track. `at` in epoch ms. */
export interface WatcherEvent {
  name: 'picture' | 'reconnecting' | 'reconnected'
  at: number
}

declare global {
  interface Window {
    happened: WatcherEvent[]
    /** Joins with a token and subscribes to all streams. */
    follow(token: string): Promise<void>
    /** Leaves the session. */
    unfollow(): void
  }
}

const add = (name: WatcherEvent['name']): void =>
  void window.happened.push({ name, at: performance.timeOrigin + performance.now() })

async function firstPicture(track: MediaStreamTrack): Promise<void> {
  const reader = new MediaStreamTrackProcessor({ track }).readable.getReader()
  const { value } = await reader.read()
  if (value) add('picture')
  value?.close()
  await reader.cancel()
}

window.happened = []
const Connection = window.RTCPeerConnection
window.RTCPeerConnection = class extends Connection {
  constructor(configuration?: RTCConfiguration) {
    super(configuration)
    this.addEventListener('track', ({ track }) => {
      if (track.kind === 'video') void firstPicture(track)
    })
  }
}

const library = (await import(parameter('library'))) as { Session: typeof Session }
let session: Session | undefined
window.follow = async (token) => {
  const own = (session = new library.Session())
  own.on('streamCreated', ({ stream }) => void own.subscribe(stream, stage()))
  own.on('reconnecting', () => add('reconnecting'))
  own.on('reconnected', () => add('reconnected'))
  await own.connect(token)
}
window.unfollow = () => {
  void session?.disconnect()
  session = undefined
}
window.ready = true
