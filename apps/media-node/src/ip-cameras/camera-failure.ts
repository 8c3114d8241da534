import { backoffMs } from '@session-service/server-kit'
import type { CameraCause } from './camera-program.js'

/** Why a camera is not read; the text contains no credentials. */
export interface CameraFailure {
  cause: CameraCause
  text: string
}

const TEXTS: Record<CameraCause, string> = {
  unauthorized: 'the camera rejected the credentials',
  'not-found': 'the camera has no stream at this address',
  timeout: 'the camera does not answer',
  unreachable: 'the camera cannot be reached',
  dns: 'the name of the camera cannot be resolved',
  tls: 'the certificate of the camera is not trusted',
  unsupported: 'the camera sends no supported stream',
  'forbidden-address': 'the camera leads to an address that is not allowed',
  failed: 'reading the camera failed',
}

/** @param refusedCodec of a video that would have to be encoded, which the options of the camera forbid */
export const cameraFailure = (cause: CameraCause, refusedCodec?: string): CameraFailure => ({
  cause,
  text:
    refusedCodec === undefined
      ? TEXTS[cause]
      : `the camera sends ${refusedCodec} video that must be transcoded, which adaptativeBitrate false prevents`,
})

/** A camera is back at most this long after its return, apart from its own start, ms. */
const LONGEST_MS = 3_000
/** Cameras lock accounts after some wrong passwords. */
const LONGEST_UNAUTHORIZED_MS = 60_000

/** The delay before the next attempt, ms. */
export const retryDelay = (failures: number, cause: CameraCause, random = Math.random()): number =>
  backoffMs(
    failures,
    { firstMs: 500, longestMs: cause === 'unauthorized' ? LONGEST_UNAUTHORIZED_MS : LONGEST_MS },
    random,
  )
