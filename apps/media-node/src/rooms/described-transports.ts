import type { NodeCommandResult } from '@session-service/contract'
import type { Peer } from './peer.js'

type Described = NodeCommandResult<'describeTransports'>

/** Both transports of a peer that has two for all its streams. */
export function describeShared({ connectionId, transports: { shared } }: Peer): Described['connections'] {
  return shared ? [{ connectionId, send: shared.send.describe(), recv: shared.recv.describe() }] : []
}

/** The transports of a peer that has one for each stream and each subscription. */
export function describeEach({
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
