import type { JoinTimes } from '../join-times.js'

/** Available in pages of Chromium only, and missing in TypeScript's DOM types. */
declare const MediaStreamTrackProcessor: new (init: { track: MediaStreamTrack }) => {
  readable: ReadableStream<VideoFrame>
}

const TIMEOUT_MS = 20_000

declare global {
  interface Window {
    /** Joins with the parameters of the page; resolves with the times of its steps when the first picture is decoded. */
    join(): Promise<JoinTimes>
    ready: boolean
  }
}

/**
 * Measures from outside, in the same way on every page: the clock starts when the page creates a WebSocket and stops at
 * the first decoded picture of the first video track.
 */
export function stopwatch(): Promise<JoinTimes> {
  const { promise, resolve, reject } = Promise.withResolvers<JoinTimes>()
  setTimeout(() => reject(new Error(`no picture within ${TIMEOUT_MS} ms`)), TIMEOUT_MS)
  let started = Number.NaN
  const times: JoinTimes = { open: Number.NaN, answer: Number.NaN, connected: Number.NaN, picture: Number.NaN }
  const reached = (step: keyof JoinTimes): void => {
    if (Number.isNaN(times[step])) times[step] = performance.now() - started
  }
  const Socket = window.WebSocket
  window.WebSocket = class extends Socket {
    constructor(url: string | URL, protocols?: string | string[]) {
      started = performance.now()
      super(url, protocols)
      this.addEventListener('open', () => reached('open'))
      this.addEventListener('message', () => reached('answer'))
    }
  }
  const Connection = window.RTCPeerConnection
  window.RTCPeerConnection = class extends Connection {
    constructor(configuration?: RTCConfiguration) {
      super(configuration)
      this.addEventListener('connectionstatechange', () => {
        if (this.connectionState === 'connected') reached('connected')
      })
      this.addEventListener('track', ({ track }) => {
        if (track.kind === 'video') void firstPicture(track, () => (reached('picture'), resolve(times)))
      })
    }
  }
  return promise
}

async function firstPicture(track: MediaStreamTrack, decoded: () => void): Promise<void> {
  const reader = new MediaStreamTrackProcessor({ track }).readable.getReader()
  const { value } = await reader.read()
  if (value) decoded()
  value?.close()
  await reader.cancel()
}

/** Reads a parameter of the page. */
export function parameter(name: string): string {
  const value = new URLSearchParams(location.search).get(name)
  if (value === null) throw new Error(`the page parameter ${name} is missing`)
  return value
}

/** The element that shows the pictures. */
export const stage = (): HTMLElement => document.body
