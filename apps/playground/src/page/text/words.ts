import { languageName } from './languages.js'
import {
  type CameraStatus,
  type DisconnectReason,
  MediaError,
  type MediaErrorCode,
  ServiceError,
} from '@session-service/client'

const REASONS: Record<DisconnectReason, string> = {
  disconnect: 'You left the session.',
  forceDisconnectByUser: 'A moderator removed you from the session.',
  forceDisconnectByServer: 'You were removed from the session.',
  sessionClosedByServer: 'The session was closed.',
  networkDisconnect: 'The connection was lost for too long.',
  nodeCrashed: 'The media server of this session failed.',
  mediaServerDisconnect: 'The media server of this session was taken out of service.',
  serviceServerStopped: 'The service was stopped.',
}

const DEVICES: Record<MediaErrorCode, string> = {
  DEVICE_ACCESS_DENIED:
    'Camera and microphone are blocked. Allow them in the address bar of your browser, or join without them.',
  DEVICE_NOT_FOUND: 'No camera or microphone was found. You can join without them.',
  DEVICE_IN_USE: 'The camera or microphone is used by another program. Close it and try again, or join without them.',
  SCREEN_CAPTURE_DENIED: 'The screen was not shared.',
  SCREEN_CAPTURE_NOT_SUPPORTED: 'This browser does not support screen sharing.',
  INSECURE_CONTEXT: 'Browsers allow camera and microphone only on pages opened over https or on localhost.',
  CAPTURE_FAILED: 'The camera or microphone could not be opened. You can join without them.',
}

const CODES: Partial<Record<ServiceError['code'], string>> = {
  UNAVAILABLE: 'The service cannot be reached. Check your network and try again.',
  TIMEOUT: 'The service did not answer in time. Please try again.',
  NO_CAPACITY: 'The service has no capacity for another session. Please try again in a moment.',
  UNAUTHENTICATED: 'This invitation has already been used. Please join again.',
  DISABLED: 'This browser does not support video sessions. Please use a current Chrome, Edge, Firefox or Safari.',
}

/** Explains why a device could not be opened; `left` is the device that was opened. */
export function deviceProblemInWords(problem: unknown, left: 'camera' | 'microphone' | undefined): string {
  if (!left || !(problem instanceof MediaError)) return errorInWords(problem)
  const missing = left === 'camera' ? 'microphone' : 'camera'
  if (problem.code === 'DEVICE_NOT_FOUND') return `No ${missing} was found. You can join without it.`
  if (problem.code === 'DEVICE_IN_USE') return `The ${missing} is used by another program. You can join without it.`
  return errorInWords(problem)
}

/** Explains why a participant could not switch to another device of the kind. */
export function switchProblemInWords(error: unknown, kind: 'audio' | 'video'): string {
  const device = kind === 'audio' ? 'microphone' : 'camera'
  if (error instanceof MediaError) {
    if (error.code === 'DEVICE_ACCESS_DENIED')
      return `The ${device} is blocked. Allow it in the address bar of your browser, and select it again.`
    if (error.code === 'DEVICE_NOT_FOUND') return `The ${device} was not found. It may have been unplugged.`
    if (error.code === 'DEVICE_IN_USE')
      return `The ${device} could not be read. Close other programs that use it, and select it again.`
    if (error.code === 'CAPTURE_FAILED') return `The ${device} could not be opened.`
    return errorInWords(error)
  }
  if (error instanceof ServiceError && CODES[error.code]) return errorInWords(error)
  const detail = error instanceof Error ? ` (${error.message})` : ''
  return `The ${device} could not be changed.${detail}`
}

/** Explains the end of the session to the user. */
export const reasonInWords = (reason: DisconnectReason): string => REASONS[reason]

/** Explains an error to the user. */
export function errorInWords(error: unknown): string {
  if (error instanceof MediaError) return DEVICES[error.code]
  if (error instanceof ServiceError) {
    if (error.code === 'CODEC_REFUSED') return `This browser cannot send the video of this session. (${error.message})`
    return CODES[error.code] ?? error.message
  }
  return error instanceof Error ? error.message : 'Something went wrong.'
}

/** Explains why an IP camera shows no pictures; empty while it plays, and while it is not read without a receiver. */
export function cameraInWords(status: CameraStatus, error: string | null): string {
  if (status === 'connecting') return 'connecting…'
  return status === 'reconnecting' ? (error ?? 'reconnecting…') : ''
}

/** Names a network quality that users notice; empty: they do not. */
export function networkInWords(level: number | null): string {
  const words = ['no network', 'very poor network', 'poor network', 'unsteady network']
  return level === null ? '' : (words[level] ?? '')
}

/** Explains why there are no captions in a language. */
export function captionProblemInWords(error: unknown, lang: string): string {
  if (!(error instanceof ServiceError)) return errorInWords(error)
  if (error.code === 'DISABLED') return 'This service does not offer captions.'
  if (error.code === 'NOT_FOUND') return `This service has no language model for ${languageName(lang)} (${lang}).`
  if (error.code === 'NOT_READY')
    return `The language model is not ready. Please try again in a moment. (${error.message})`
  // The service knows which of its resources is missing.
  return error.code === 'NO_CAPACITY' ? error.message : errorInWords(error)
}

/** Explains why a filter could not be applied or removed. */
export function filterProblemInWords(error: unknown): string {
  if (!(error instanceof ServiceError)) return errorInWords(error)
  if (error.code === 'DISABLED') return 'This service does not offer filters.'
  if (error.code === 'NO_CAPACITY') return 'The service has no capacity for another filter. Please try again later.'
  return errorInWords(error)
}

/** `Ada, Grace and 2 others`. */
export function listInWords(names: readonly string[], most = 2): string {
  // "and 1 other" would not be shorter than the name.
  const shown = names.length > most + 1 ? names.slice(0, most) : names
  const others = names.length - shown.length
  const last = others > 0 ? `${others} others` : shown.at(-1)
  const before = others > 0 ? shown : shown.slice(0, -1)
  return before.length > 0 ? `${before.join(', ')} and ${last ?? ''}` : (last ?? '')
}

/** `1 person`, `2 people`. */
export const peopleInWords = (count: number): string => `${count} ${count === 1 ? 'person' : 'people'}`

/** Formats seconds: `0:05`, `12:07`, `1:02:03`. */
export function durationInWords(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60]
  const rest = String(whole % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/** Formats bytes with decimal units: `740 kB`, `1.3 MB`. */
export function sizeInWords(bytes: number): string {
  const thousands = bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3
  const value = bytes / 1_000 ** thousands
  return `${value.toFixed(thousands > 1 && value < 10 ? 1 : 0)} ${['kB', 'MB', 'GB'][thousands - 1] ?? ''}`
}
