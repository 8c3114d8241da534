import type { NodeCommandResult } from '@session-service/contract'
import type { Peer } from './peer.js'

type Described = NodeCommandResult<'describeTransports'>

/** A page ends with the connection that reaches this number of transports; each has 1 KiB or less. */
const PAGE = 300

/** The transports of the first peers after a connection, by the ids of their connections. */
export function describePage(peers: readonly Peer[], after = ''): Described {
  const page = { connections: [] as Described['connections'], streams: [] as NonNullable<Described['streams']> }
  const rest = peers.filter(({ connectionId }) => connectionId > after)
  rest.sort((a, b) => (a.connectionId < b.connectionId ? -1 : 1))
  for (const [index, peer] of rest.entries()) {
    page.connections.push(...describeShared(peer))
    page.streams.push(...describeEach(peer))
    const isFull = 2 * page.connections.length + page.streams.length >= PAGE
    if (isFull && index + 1 < rest.length) return { ...page, next: peer.connectionId }
  }
  return page
}

/** Both transports of a peer that has two for all its streams. */
function describeShared({ connectionId, transports: { shared } }: Peer): Described['connections'] {
  return shared ? [{ connectionId, send: shared.send.describe(), recv: shared.recv.describe() }] : []
}

/** The transports of a peer that has one for each stream and each subscription. */
function describeEach({
  connectionId,
  transports: { shared },
  streams,
  subscriptions,
}: Peer): NonNullable<Described['streams']> {
  if (shared) return []
  const sending = [...streams.values()].flatMap(({ id: streamId, transport }) =>
    transport ? [{ connectionId, streamId, direction: 'send' as const, transport: transport.describe() }] : [],
  )
  const receiving = [...subscriptions.values()].map(({ stream, transport }) => ({
    connectionId,
    streamId: stream.id,
    direction: 'recv' as const,
    transport: transport.describe(),
  }))
  return [...sending, ...receiving]
}
