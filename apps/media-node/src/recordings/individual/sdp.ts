import type { TapTrack, RtpPorts } from '../../tap/plain-rtp-tap.js'

/** The SDP for a program that receives these tracks on loopback. */
export function sdpOf(tracks: readonly { track: TapTrack; ports: RtpPorts }[]): string {
  const lines = ['v=0', 'o=- 0 0 IN IP4 127.0.0.1', 's=stream', 'c=IN IP4 127.0.0.1', 't=0 0']
  for (const { track, ports } of tracks) lines.push(...mediaLines(track, ports))
  return `${lines.join('\r\n')}\r\n`
}

function mediaLines(
  { kind, codec, clockRate, channels, payloadType, ssrc, cname, parameters }: TapTrack,
  ports: RtpPorts,
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
