import { z } from 'zod'
import { Id } from '../ids.js'
import { CameraStatus } from '../participants/members.js'
import { CameraUri } from '../rest/connection.js'

/** How a node reads the camera of a connection. */
export const CameraSource = z.object({
  /** With its credentials: no log or error may contain it. */
  uri: CameraUri,
  /** The delay that evens out an unsteady network, ms. */
  networkCache: z.number().int().nonnegative(),
  adaptativeBitrate: z.boolean(),
  onlyPlayWithSubscribers: z.boolean(),
  /** Loopback, link-local and metadata addresses to allow: addresses, networks or host names. */
  allowedAddresses: z.array(z.string()),
})
export type CameraSource = z.infer<typeof CameraSource>

/** The tracks of a camera's stream, which stay the same for the life of the connection. */
export const CameraTracks = z.object({ hasAudio: z.boolean(), hasVideo: z.boolean() })
export type CameraTracks = z.infer<typeof CameraTracks>

/** A change of a camera's state. Of two reports of the same epoch, the one with the higher revision is newer. */
export const CameraChange = z.object({
  roomId: Id,
  epoch: z.number().int().nonnegative(),
  connectionId: Id,
  revision: z.number().int().nonnegative(),
  status: CameraStatus,
  /** The cause of the last failure, without credentials; null while the camera works. */
  error: z.string().nullable(),
})
export type CameraChange = z.infer<typeof CameraChange>
