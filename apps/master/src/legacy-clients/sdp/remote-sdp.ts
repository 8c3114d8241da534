import { type DtlsParameters, ServiceError, type TransportOptions } from '@session-service/contract'
import { RemoteSdp } from 'mediasoup-client/handlers/sdp/RemoteSdp'

/**
 * The SDP of our end of a transport. It has the fingerprint of SHA-256 alone: the library writes the last one, and
 * browsers that follow RFC 8122 reject SHA-1.
 */
export function remoteSdp(transport: TransportOptions, role: 'auto' | 'server'): RemoteSdp {
  const { iceParameters, iceCandidates, dtlsParameters } = transport
  return new RemoteSdp({
    iceParameters,
    iceCandidates,
    dtlsParameters: { role, fingerprints: [fingerprintOf(dtlsParameters)] },
  })
}

function fingerprintOf({ fingerprints }: DtlsParameters): DtlsParameters['fingerprints'][number] {
  const fingerprint = fingerprints.find(({ algorithm }) => algorithm === 'sha-256')
  if (fingerprint) return fingerprint
  throw new ServiceError('INTERNAL', 'the transport has no fingerprint of SHA-256')
}
