import type { types } from 'mediasoup-client'

/** The name of the track in mediasoup-client, and the media id of its section. */
const PROBATOR = 'probator'

interface ReceivedTrack {
  trackId: string
  rtpParameters: types.RtpParameters
}
type Receive = (tracks: ReceivedTrack[]) => Promise<unknown>

/**
 * The server sends packets without media to measure the network. mediasoup-client makes a track for them, so that browsers
 * count them for the bandwidth estimate. A lost one is never sent again, so browsers must not request it: they would
 * repeat that several times a second.
 */
export function neverRequestProbation(transport: types.Transport): void {
  // Private in mediasoup-client, whose version is pinned; `network.browser.test` finds out when it changes.
  const handler = Reflect.get(transport, '_handler') as { receive: Receive }
  const receive = handler.receive.bind(handler)
  handler.receive = (tracks) =>
    receive(tracks.map((track) => (track.trackId === PROBATOR ? withoutNack(track) : track)))
}

const withoutNack = (track: ReceivedTrack): ReceivedTrack => ({
  ...track,
  rtpParameters: {
    ...track.rtpParameters,
    codecs: track.rtpParameters.codecs.map((codec) => ({
      ...codec,
      rtcpFeedback: codec.rtcpFeedback?.filter(({ type }) => type !== 'nack') ?? [],
    })),
  },
})

/** The statistics without those of the probation packets, whose gaps look like losses of media. */
export function withoutProbation(report: RTCStatsReport): RTCStatsReport {
  const entries = [...(report as Iterable<[string, { mid?: string }]>)]
  return new Map(entries.filter(([, { mid }]) => mid !== PROBATOR))
}
