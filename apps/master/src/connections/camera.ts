import type { CameraChange, CameraTracks, ConnectionInfo } from '@session-service/contract'

/** A camera on the network, as the row of its connection stores it. */
export interface Camera {
  /** With its credentials, for the administrator and the media node only. */
  rtspUri: string
  /** Without credentials, for events. */
  publicUri: string
  adaptativeBitrate: boolean
  onlyPlayWithSubscribers: boolean
  networkCache: number
  /** The stream keeps its id on every media node. */
  streamId: string
  /** Null until a media node has read the camera. */
  tracks: CameraTracks | null
}

/** The last report of a media node about a camera. */
export type CameraState = Pick<CameraChange, 'status' | 'error' | 'epoch' | 'revision'>

/** The members of a camera in the clients' view of its connection; none for other participants. */
export const cameraMembers = (state: CameraState | null): Pick<ConnectionInfo, 'cameraStatus' | 'cameraError'> =>
  state ? { cameraStatus: state.status, cameraError: state.error } : {}
