import { metrics } from '@session-service/server-kit'
import type { MediaService } from '../rooms/media.service.js'
import type { Peer } from '../rooms/peer.js'

const DIRECTION = ['in', 'out'] as const
const KIND = ['audio', 'video'] as const
const PROTOCOL = ['udp', 'tcp', 'none'] as const

/** Exports the number of tracks and transports, counted at each scrape. */
export function exportMediaGauges(media: MediaService): void {
  metrics.sampledSeries(
    'media_tracks',
    {
      help: 'Tracks of publishers (in) and tracks sent to subscribers (out)',
      labels: { direction: DIRECTION, kind: KIND },
    },
    () => {
      const kinds = { in: inKinds(media), out: outKinds(media) }
      return DIRECTION.flatMap((direction) =>
        KIND.map((kind) => [{ direction, kind }, kinds[direction].filter((each) => each === kind).length] as const),
      )
    },
  )
  metrics.sampledSeries(
    'media_transports',
    {
      help: 'WebRTC transports of clients by the protocol of their media; none: not connected. A relay is not visible here',
      labels: { direction: DIRECTION, protocol: PROTOCOL },
    },
    () => {
      const peers = peersOf(media)
      const protocols = {
        in: peers.flatMap(({ sendTransports }) => sendTransports.map(({ protocol }) => protocol)),
        out: peers.flatMap(({ recvTransports }) => recvTransports.map(({ protocol }) => protocol)),
      }
      return DIRECTION.flatMap((direction) =>
        PROTOCOL.map((protocol) => {
          const count = protocols[direction].filter((each) => (each ?? 'none') === protocol).length
          return [{ direction, protocol }, count] as const
        }),
      )
    },
  )
}

const peersOf = ({ rooms }: MediaService): Peer[] => [...rooms].flatMap(({ peers }) => [...peers.values()])

const inKinds = ({ rooms }: MediaService) =>
  [...rooms].flatMap(({ streams }) => [...streams.values()].flatMap(({ tracks }) => tracks.map(({ kind }) => kind)))

const outKinds = (media: MediaService) =>
  peersOf(media).flatMap(({ subscriptions }) =>
    [...subscriptions.values()].flatMap(({ consumers }) =>
      consumers.filter(({ closed }) => !closed).map(({ kind }) => kind),
    ),
  )
