import type { FedTrack, FeedPorts } from '../../tap/plain-rtp-tap.js'

/** What a program needs to take these tracks on its ports of loopback. RTCP comes to the port after each one's RTP. */
export function sdpOf(tracks: readonly { track: FedTrack; ports: FeedPorts }[]): string {
  const lines = ['v=0', 'o=- 0 0 IN IP4 127.0.0.1', 's=stream', 'c=IN IP4 127.0.0.1', 't=0 0']
  for (const { track, ports } of tracks) lines.push(...mediaLines(track, ports))
  return `${lines.join('\r\n')}\r\n`
}

function mediaLines(
  { kind, codec, clockRate, channels, payloadType, ssrc, cname, parameters }: FedTrack,
  ports: FeedPorts,
) {
  const format = Object.entries(parameters).map(([name, value]) => `${name}=${String(value)}`)
  return [
    `m=${kind} ${ports.rtp} RTP/AVP ${payloadType}`,
    `a=rtcp:${ports.rtcp}`,
    `a=rtpmap:${payloadType} ${codec}/${clockRate}${channels === undefined ? '' : `/${channels}`}`,
    ...(format.length > 0 ? [`a=fmtp:${payloadType} ${format.join(';')}`] : []),
    `a=ssrc:${ssrc} cname:${cname}`,
  ]
}
