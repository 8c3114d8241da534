import type { DtlsParameters } from '@session-service/contract'
import { createHash, X509Certificate } from 'node:crypto'
import {
  CipherContext,
  DtlsClient,
  HashAlgorithm,
  NamedCurveAlgorithm,
  SignatureAlgorithm,
  SrtcpSession,
  SrtpSession,
} from 'werift'
import { SRTP_AEAD_AES_128_GCM, SRTP_KEY_BYTES, SRTP_SALT_BYTES, SrtpKeys } from '../rtp/srtp.js'

export interface Certificate {
  readonly cert: string
  readonly key: string
  /** The signalled parameters; this side is always the client of the handshake. */
  readonly parameters: DtlsParameters
}

const SIGNATURE = { hash: HashAlgorithm.sha256_4, signature: SignatureAlgorithm.ecdsa_3 }

async function createCertificate(): Promise<Certificate> {
  const { certPem, keyPem } = await CipherContext.createSelfSignedCertificateWithKey(
    SIGNATURE,
    NamedCurveAlgorithm.secp256r1_23,
  )
  const value = new X509Certificate(certPem).fingerprint256
  return { cert: certPem, key: keyPem, parameters: { role: 'client', fingerprints: [{ algorithm: 'sha-256', value }] } }
}

let certificate: Promise<Certificate> | undefined
/** The common certificate of the process, because creating one takes as long as a handshake. */
export const ownCertificate = (): Promise<Certificate> => (certificate ??= createCertificate())

/** The SRTP keys of a completed handshake. */
export interface MediaKeys {
  readonly sendRtp: SrtpKeys
  readonly receiveRtp: SrtpKeys
  readonly rtcp: SrtcpSession
}

/** The DTLS client of a transport, which uses the handshake of werift. */
export class DtlsHandshake {
  readonly #client: DtlsClient
  readonly #wire: { onData: (data: Buffer) => void; closed: boolean }
  readonly #remote: DtlsParameters

  constructor(own: Certificate, remote: DtlsParameters, send: (packet: Buffer) => void) {
    this.#remote = remote
    const wire = {
      type: 'ice',
      address: { address: '0.0.0.0', family: 'IPv4', port: 0 },
      closed: false,
      onData: (_data: Buffer): void => undefined,
      send: (data: Buffer): Promise<void> => Promise.resolve(wire.closed ? undefined : send(data)),
      close: (): Promise<void> => Promise.resolve(),
    }
    this.#wire = wire
    this.#client = new DtlsClient({
      transport: wire,
      cert: own.cert,
      key: own.key,
      signatureHash: SIGNATURE,
      srtpProfiles: [SRTP_AEAD_AES_128_GCM],
      extendedMasterSecret: true,
    })
  }

  receive(packet: Buffer): void {
    if (!this.#wire.closed) this.#wire.onData(packet)
  }

  /** Runs the handshake; rejects after `close`, for a certificate other than signalled, and without a common suite. */
  async run(): Promise<MediaKeys> {
    // The library would repeat its first message for half a minute, which delays the exit of the process.
    if (this.#wire.closed) throw new Error('the DTLS handshake was closed before it started')
    await new Promise<void>((resolve, reject) => {
      this.#client.onConnect.once(resolve)
      this.#client.onError.once(reject)
      this.#client.onClose.once(() => reject(new Error('the server closed the DTLS handshake')))
      this.#client.connect().catch(reject)
    })
    this.#verifyCertificate()
    return this.#keys()
  }

  /** Stops retransmissions; the library's timer ends at its next run. */
  close(): void {
    this.#wire.closed = true
    // Otherwise a message that is being processed would start the next flight.
    Object.defineProperty(this.#client.dtls, 'flight', { get: () => Number.MAX_SAFE_INTEGER, set: () => {} })
  }

  #verifyCertificate(): void {
    const raw = this.#client.remoteCertificate
    const matches = this.#remote.fingerprints.some(({ algorithm, value }) => {
      const digest = raw && createHash(algorithm.replace('-', '')).update(raw).digest('hex')
      return digest === value.replaceAll(':', '').toLowerCase()
    })
    if (!matches) throw new Error('the server’s certificate has none of the signalled fingerprints')
  }

  #keys(): MediaKeys {
    const profile = this.#client.srtp.srtpProfile
    if (profile !== SRTP_AEAD_AES_128_GCM) throw new Error('the server does not support AEAD_AES_128_GCM')
    const { localKey, localSalt, remoteKey, remoteSalt } = this.#client.extractSessionKeys(
      SRTP_KEY_BYTES,
      SRTP_SALT_BYTES,
    )
    const keys = {
      localMasterKey: localKey,
      localMasterSalt: localSalt,
      remoteMasterKey: remoteKey,
      remoteMasterSalt: remoteSalt,
    }
    const { localContext, remoteContext } = new SrtpSession({ keys, profile })
    return {
      sendRtp: new SrtpKeys(localContext.srtpSessionKey, localContext.srtpSessionSalt),
      receiveRtp: new SrtpKeys(remoteContext.srtpSessionKey, remoteContext.srtpSessionSalt),
      rtcp: new SrtcpSession({ keys, profile }),
    }
  }
}
