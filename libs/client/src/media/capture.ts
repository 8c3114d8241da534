import type { MediaKind } from '@session-service/contract'

export type MediaErrorCode =
  /** The person or the browser's settings refuse the camera or microphone. */
  | 'DEVICE_ACCESS_DENIED'
  | 'DEVICE_NOT_FOUND'
  /** Another program holds the device, or it failed. */
  | 'DEVICE_IN_USE'
  | 'SCREEN_CAPTURE_DENIED'
  | 'SCREEN_CAPTURE_NOT_SUPPORTED'
  /** Browsers give devices only to pages of https: and of localhost. */
  | 'INSECURE_CONTEXT'
  | 'CAPTURE_FAILED'

/** Why no track could be had of a device. `cause` is what the browser said. */
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

/** `true`: the default device; a text: the device of that id; `false`: none. */
export type TrackSource = boolean | string | MediaStreamTrack

export interface CaptureOptions {
  /** Default true, with `screen` false. */
  audio?: TrackSource
  /** Default true; not looked at with `screen`. */
  video?: TrackSource
  /** Shares the screen, a window or a tab, as the person chooses; with its sound where the browser can. */
  screen?: boolean | { systemAudio?: boolean }
  /** `<width>x<height>` wished of the camera; default 960x540, the least that has three simulcast layers. */
  resolution?: string
  /** Frames a second wished of the camera or screen; default 30. */
  frameRate?: number
}

/** A track, and whether this library opened it and so is to stop it. */
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
  DEVICE_ACCESS_DENIED: 'the use of the camera or microphone was refused',
  DEVICE_NOT_FOUND: 'there is no such camera or microphone',
  DEVICE_IN_USE: 'the camera or microphone cannot be read; another program may be using it',
  SCREEN_CAPTURE_DENIED: 'the screen was not shared',
  SCREEN_CAPTURE_NOT_SUPPORTED: 'this browser cannot share the screen',
  INSECURE_CONTEXT: 'cameras and microphones can be used only by pages of https: or localhost',
  CAPTURE_FAILED: 'the camera or microphone could not be opened',
}

export function mediaErrorOf(cause: unknown, screen: boolean): MediaError {
  if (cause instanceof MediaError) return cause
  const code = (cause instanceof Error && CODES[cause.name]) || 'CAPTURE_FAILED'
  const shown = screen && code === 'DEVICE_ACCESS_DENIED' ? 'SCREEN_CAPTURE_DENIED' : code
  return new MediaError(shown, TEXTS[shown], { cause })
}

const RESOLUTION = /^(\d{1,5})x(\d{1,5})$/

/** Throws a `TypeError` for a resolution of another form. */
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

/** Undefined: no device is to be opened for sound. */
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
  // Typed as always there, but absent on pages that are not secure.
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
    if (source.kind !== kind) throw new TypeError(`${kind}: the track given is one of ${source.kind}`)
    return [{ track: source, opened: false }]
  })
}

/**
 * Opens what the options ask for: at most one audio and one video track. Throws a `MediaError`; then nothing stays
 * open. Throws a `TypeError` when the options ask for nothing or contradict themselves.
 */
export async function captureTracks(given: CaptureOptions): Promise<CapturedTrack[]> {
  const options = given.screen ? { audio: false, ...given } : given
  const own = ownTracks(options)
  const screen = options.screen
    ? await captureScreen(options).catch((error) => Promise.reject(mediaErrorOf(error, true)))
    : []
  try {
    const hasSound = [...own, ...screen].some(({ track }) => track.kind === 'audio')
    const rest = await captureDevices(hasSound ? { ...options, audio: false } : options)
    const all = [...own, ...screen, ...rest]
    if (all.length === 0) throw new TypeError('audio, video, screen: nothing to publish is left')
    return all
  } catch (error) {
    for (const { track } of screen) track.stop()
    throw error instanceof TypeError ? error : mediaErrorOf(error, false)
  }
}
