import type { ConnectionView } from '@session-service/contract'
import {
  descendantsOf,
  type RtspServer,
  type Stack,
  type Subscription,
  SyntheticParticipant,
  until,
} from '@session-service/testing'
import type { ClipName } from './clips.js'

const LONG_MS = 60_000

/** The service with a server that plays the cameras. */
export interface Scene {
  stack: Stack
  server: RtspServer
}

export const createCamera = ({ stack, server }: Scene, sessionId: string, clip: ClipName): Promise<ConnectionView> =>
  stack.api.createConnection(sessionId, {
    type: 'IPCAM',
    rtspUri: server.url(clip),
    networkCache: 0,
    onlyPlayWithSubscribers: false,
  })

export async function joinSession({ stack }: Scene, sessionId: string): Promise<SyntheticParticipant> {
  const { token } = await stack.api.createConnection(sessionId)
  return SyntheticParticipant.join(token ?? '', { videoCodecs: ['VP8', 'H264'] })
}

/** The programs of the media node that read cameras. */
export const readers = ({ stack }: Scene): number[] =>
  stack.nodes.flatMap(({ pid }) =>
    descendantsOf(pid)
      .filter(({ command }) => command.includes('camera-reader'))
      .map((reader) => reader.pid),
  )

/** Resolves with the arrival of the first key frame, epoch ms. */
export const firstPicture = (watched: Subscription): Promise<number> =>
  until('the first picture', () => watched.stats().video?.firstKeyFrameAt, LONG_MS)
