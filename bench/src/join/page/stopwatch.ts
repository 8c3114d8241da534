/** Only Chromium has it in pages, and TypeScript's list of the DOM has not. */
declare const MediaStreamTrackProcessor: new (init: { track: MediaStreamTrack }) => {
  readable: ReadableStream<VideoFrame>
}

const PATIENCE_MS = 20_000

declare global {
  interface Window {
    /** Joins with what the page was given; ms from opening the socket to the first picture. */
    join(): Promise<number>
    ready: boolean
  }
}

/**
 * Measures from outside, the same way on every page: the clock starts when the page makes a WebSocket and stops when the
 * first video track that comes gives its first decoded picture.
 */
export function stopwatch(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  setTimeout(() => reject(new Error(`no picture within ${PATIENCE_MS} ms`)), PATIENCE_MS)
  let started = Number.NaN
  const Socket = window.WebSocket
  window.WebSocket = class extends Socket {
    constructor(url: string | URL, protocols?: string | string[]) {
      started = performance.now()
      super(url, protocols)
    }
  }
  const Connection = window.RTCPeerConnection
  window.RTCPeerConnection = class extends Connection {
    constructor(configuration?: RTCConfiguration) {
      super(configuration)
      this.addEventListener('track', ({ track }) => {
        if (track.kind === 'video') void firstPicture(track, () => resolve(performance.now() - started))
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

/** A page's parameter by name. */
export function parameter(name: string): string {
  const value = new URLSearchParams(location.search).get(name)
  if (value === null) throw new Error(`the page was opened without ${name}`)
  return value
}

/** Where pictures are shown. */
export const stage = (): HTMLElement => document.body
