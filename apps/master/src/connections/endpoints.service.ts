import {
  type ConnectionView,
  type EndpointView,
  publisherOf,
  type TransportDescription,
} from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'

/** The transports of a client, by its connection id. */
export type Transports = ReadonlyMap<string, Pair>
interface Pair {
  send: TransportDescription
  recv: TransportDescription
}

/** Where the room of a session is. */
interface Place {
  uniqueSessionId: string
  mediaNodeId: string | null
}

/** Reads the transports of clients from media nodes. */
@Injectable()
export class EndpointsService {
  readonly #logger = new Logger(EndpointsService.name)

  constructor(private readonly mediaNodes: MediaNodesService) {}

  /** Those of all these sessions; without those of nodes that do not answer. */
  async transportsOf(places: readonly Place[]): Promise<Transports> {
    const roomsByNode = Map.groupBy(places, ({ mediaNodeId }) => mediaNodeId)
    const found = await Promise.all([...roomsByNode].map(([nodeId, rooms]) => this.#transportsOn(nodeId, rooms)))
    return new Map(found.flat())
  }

  async #transportsOn(nodeId: string | null, rooms: readonly Place[]): Promise<[string, Pair][]> {
    if (nodeId === null) return []
    try {
      const roomIds = rooms.map(({ uniqueSessionId }) => uniqueSessionId)
      const { connections } = await this.mediaNodes.request({ nodeId }, 'describeTransports', { roomIds })
      return connections.map(({ connectionId, ...transports }) => [connectionId, transports])
    } catch (error) {
      this.#logger.warn(`media node ${nodeId} did not describe its transports: ${String(error)}`)
      return []
    }
  }
}

/** The view with the members of `webRtcStats=true`. */
export function withEndpoints(view: ConnectionView, transports: Transports): ConnectionView {
  const { send, recv } = transports.get(view.id) ?? {}
  return {
    ...view,
    publishers: view.publishers && view.publishers.map((each) => ({ ...each, ...endpointView(send) })),
    subscribers:
      view.subscribers &&
      view.subscribers.map((each) => ({ ...each, publisher: publisherOf(each.streamId), ...endpointView(recv) })),
  }
}

const endpointView = (transport: TransportDescription | undefined): EndpointView => ({
  webrtcEndpointName: transport?.id ?? null,
  localCandidate: transport?.localCandidate ?? null,
  remoteCandidate: transport?.remoteCandidate ?? null,
  serverIceCandidates: transport?.candidates ?? null,
  clientIceCandidates: null,
  localSdp: null,
  remoteSdp: null,
  events: null,
})
