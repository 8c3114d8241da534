import {
  type ConnectionView,
  type EndpointView,
  type NodeCommandResult,
  publisherOf,
  type TransportDescription,
  type TransportDirection,
} from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import { NodeCommands } from '../media-nodes/node-commands.js'

/** The transports of clients by `keyOf`. */
export type Transports = ReadonlyMap<string, TransportDescription>

/** Without a stream: the transport of all streams in a direction. */
const keyOf = (connectionId: string, direction: TransportDirection, streamId = ''): string =>
  `${connectionId}/${direction}/${streamId}`

/** The transports in the answer of a node. */
export function transportsFrom({ connections, streams = [] }: NodeCommandResult<'describeTransports'>): Transports {
  const shared = connections.flatMap(({ connectionId, send, recv }): [string, TransportDescription][] => [
    [keyOf(connectionId, 'send'), send],
    [keyOf(connectionId, 'recv'), recv],
  ])
  const own = streams.map(({ connectionId, direction, streamId, transport }): [string, TransportDescription] => [
    keyOf(connectionId, direction, streamId),
    transport,
  ])
  return new Map([...shared, ...own])
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

  constructor(private readonly nodeCommands: NodeCommands) {}

  /** The transports of these sessions, without those of nodes that do not answer. */
  async transportsOf(places: readonly Place[]): Promise<Transports> {
    const roomsByNode = Map.groupBy(places, ({ mediaNodeId }) => mediaNodeId)
    const found = await Promise.all([...roomsByNode].map(([nodeId, rooms]) => this.#transportsOn(nodeId, rooms)))
    return new Map(found.flat())
  }

  async #transportsOn(nodeId: string | null, rooms: readonly Place[]): Promise<[string, TransportDescription][]> {
    if (nodeId === null) return []
    const roomIds = rooms.map(({ uniqueSessionId }) => uniqueSessionId)
    const found: [string, TransportDescription][] = []
    let after: string | undefined
    try {
      do {
        const page = await this.nodeCommands.request({ nodeId }, 'describeTransports', { roomIds, after })
        found.push(...transportsFrom(page))
        after = page.next
      } while (after !== undefined)
    } catch (error) {
      this.#logger.warn({ mediaNodeId: nodeId }, `the media node did not describe its transports: ${String(error)}`)
    }
    return found
  }
}

/** The view with the members of `webRtcStats=true`. */
export function withEndpoints(view: ConnectionView, transports: Transports): ConnectionView {
  const of = (direction: TransportDirection, streamId: string): EndpointView =>
    endpointView(transports.get(keyOf(view.id, direction, streamId)) ?? transports.get(keyOf(view.id, direction)))
  return {
    ...view,
    publishers: view.publishers && view.publishers.map((each) => ({ ...each, ...of('send', each.streamId) })),
    subscribers:
      view.subscribers &&
      view.subscribers.map((each) => ({
        ...each,
        publisher: publisherOf(each.streamId),
        ...of('recv', each.streamId),
      })),
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
