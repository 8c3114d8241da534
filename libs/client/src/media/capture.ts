import type { MediaKind } from '@session-service/contract'

export type MediaErrorCode =
  /** The user or the browser's settings denied access to the camera or microphone. */
  | 'DEVICE_ACCESS_DENIED'
  | 'DEVICE_NOT_FOUND'
  /** Another program uses the device, or the device failed. */
  | 'DEVICE_IN_USE'
  | 'SCREEN_CAPTURE_DENIED'
  | 'SCREEN_CAPTURE_NOT_SUPPORTED'
  /** Browsers grant devices only to pages from https: or localhost. */
  | 'INSECURE_CONTEXT'
  | 'CAPTURE_FAILED'

/** A device or screen could not be captured. `cause` is the browser's error. */
export class MediaError extends Error {
  override readonly name = 'MediaError'
  constructor(
    readonly code: MediaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** `true`: the default device; a string: the device with this id; `false`: none. */
export type TrackSource = boolean | string | MediaStreamTrack

export interface CaptureOptions {
  /** Default true; false with `screen`. */
  audio?: TrackSource
  /** Default true; ignored with `screen`. */
  video?: TrackSource
  /** Shares the screen, window or tab that the user selects; with its audio if the browser supports it. */
  screen?: boolean | { systemAudio?: boolean }
  /** Preferred camera resolution, `<width>x<height>`; default 960x540, the smallest one with three simulcast layers. */
  resolution?: string
  /** Preferred frames per second of the camera or screen; default 30. */
  frameRate?: number
}

/** A track. The library stops it only if the library opened it. */
export interface CapturedTrack {
  readonly track: MediaStreamTrack
  readonly opened: boolean
}

const CODES: Record<string, MediaErrorCode> = {
  NotAllowedError: 'DEVICE_ACCESS_DENIED',
  SecurityError: 'DEVICE_ACCESS_DENIED',
  NotFoundError: 'DEVICE_NOT_FOUND',
  OverconstrainedError: 'DEVICE_NOT_FOUND',
  NotReadableError: 'DEVICE_IN_USE',
  AbortError: 'DEVICE_IN_USE',
}
const TEXTS: Record<MediaErrorCode, string> = {
  DEVICE_ACCESS_DENIED: 'access to the camera or microphone was denied',
  DEVICE_NOT_FOUND: 'the camera or microphone was not found',
  DEVICE_IN_USE: 'the camera or microphone could not be read; another program may be using it',
  SCREEN_CAPTURE_DENIED: 'the screen was not shared',
  SCREEN_CAPTURE_NOT_SUPPORTED: 'this browser does not support screen sharing',
  INSECURE_CONTEXT: 'cameras and microphones are available only to pages from https: or localhost',
  CAPTURE_FAILED: 'the camera or microphone could not be opened',
}

export function mediaErrorOf(cause: unknown, screen: boolean): MediaError {
  if (cause instanceof MediaError) return cause
  // The OverconstrainedError of Safari is no Error.
  const { name } = (cause ?? {}) as { name?: unknown }
  const code = CODES[String(name)] ?? 'CAPTURE_FAILED'
  const actual = screen && code === 'DEVICE_ACCESS_DENIED' ? 'SCREEN_CAPTURE_DENIED' : code
  return new MediaError(actual, TEXTS[actual], { cause })
}

/** Tests for the error of a device that another user of it, such as an own track, may occupy. */
export const isInUse = (error: unknown): boolean => error instanceof MediaError && error.code === 'DEVICE_IN_USE'

const RESOLUTION = /^(\d{1,5})x(\d{1,5})$/

/** Throws a `TypeError` for a malformed resolution. */
export function videoConstraints({
  video,
  resolution = '960x540',
  frameRate = 30,
}: CaptureOptions): MediaTrackConstraints {
  const [, width, height] = RESOLUTION.exec(resolution) ?? []
  if (!width || !height) throw new TypeError(`resolution: "${resolution}" is not of the form 640x480`)
  return {
    width: { ideal: Number(width) },
    height: { ideal: Number(height) },
    frameRate: { ideal: frameRate },
    ...(typeof video === 'string' && { deviceId: { exact: video } }),
  }
}

/** Returns undefined when no microphone is to be opened. */
export function audioConstraints(audio: TrackSource | undefined): MediaTrackConstraints | undefined {
  if (audio === false || typeof audio === 'object') return undefined
  return {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    ...(typeof audio === 'string' && { deviceId: { exact: audio } }),
  }
}

const isOwn = (source: TrackSource | undefined): source is MediaStreamTrack => typeof source === 'object'
const opened = (tracks: MediaStreamTrack[]): CapturedTrack[] => tracks.map((track) => ({ track, opened: true }))

function devices(): MediaDevices {
  // The type is not optional, but insecure pages do not have it.
  const found = navigator.mediaDevices as MediaDevices | undefined
  if (found) return found
  throw new MediaError('INSECURE_CONTEXT', TEXTS.INSECURE_CONTEXT)
}

async function captureScreen(options: CaptureOptions): Promise<CapturedTrack[]> {
  if (typeof (devices() as Partial<MediaDevices>).getDisplayMedia !== 'function')
    throw new MediaError('SCREEN_CAPTURE_NOT_SUPPORTED', TEXTS.SCREEN_CAPTURE_NOT_SUPPORTED)
  const audio = typeof options.screen === 'object' && options.screen.systemAudio === true
  const video = { frameRate: { ideal: options.frameRate ?? 30 } }
  const stream = await devices().getDisplayMedia({ video, audio })
  for (const track of stream.getVideoTracks()) track.contentHint = 'detail'
  return opened(stream.getTracks())
}

async function captureDevices(options: CaptureOptions): Promise<CapturedTrack[]> {
  const audio = audioConstraints(options.audio)
  const wantsCamera = !options.screen && options.video !== false && !isOwn(options.video)
  const video = wantsCamera && videoConstraints(options)
  if (!audio && !video) return []
  const stream = await devices().getUserMedia({ ...(audio && { audio }), ...(video && { video }) })
  return opened(stream.getTracks())
}

function ownTracks({ audio, video, screen }: CaptureOptions): CapturedTrack[] {
  const kinds: [MediaKind, TrackSource | undefined][] = [
    ['audio', audio],
    ['video', screen ? undefined : video],
  ]
  return kinds.flatMap(([kind, source]) => {
    if (!isOwn(source)) return []
    if (source.kind !== kind) throw new TypeError(`${kind}: the track has the kind ${source.kind}`)
    return [{ track: source, opened: false }]
  })
}

/**
 * Opens the sources of the options: at most one audio and one video track. Rejects with a `MediaError` and leaves no
 * source open, or with a `TypeError` when the options name no source or contradict each other.
 */
export async function captureTracks(given: CaptureOptions): Promise<CapturedTrack[]> {
  const options = given.screen ? { ...given, audio: given.audio ?? false } : given
  const own = ownTracks(options)
  const screen = options.screen
    ? await captureScreen(options).catch((error) => Promise.reject(mediaErrorOf(error, true)))
    : []
  try {
    const hasSound = [...own, ...screen].some(({ track }) => track.kind === 'audio')
    const rest = await captureDevices(hasSound ? { ...options, audio: false } : options)
    const all = [...own, ...screen, ...rest]
    if (all.length === 0) throw new TypeError('audio, video, screen: the options leave nothing to publish')
    return all
  } catch (error) {
    for (const { track } of screen) track.stop()
    throw error instanceof TypeError ? error : mediaErrorOf(error, false)
  }
}
