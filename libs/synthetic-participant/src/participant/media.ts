import type { IceParameters, SignallingResult, TransportDirection } from '@session-service/contract'
import { randomInt } from 'node:crypto'
import type { Certificate } from '../transport/dtls.js'
import { MediaTransport, type TransportFigures } from '../transport/media-transport.js'
import { Publication, type PublishOptions } from '../tracks/publication.js'
import { extensionId, receiverCapabilities } from '../tracks/rtp-parameters.js'
import { EXTENSION } from '../tracks/rtp-sender.js'
import type { LinkOptions } from './participant-types.js'
import { Receiving } from '../tracks/subscription.js'
import { TransportFeedback } from '../rtp/transport-feedback.js'

/** Both transports of a participant with their publications and subscriptions, independent of signalling. */
export class ParticipantMedia {
  readonly receiving: Receiving
  readonly rtpCapabilities
  readonly publications = new Set<Publication>()
  readonly #send: MediaTransport
  readonly #receive: MediaTransport
  readonly #cname: string
  readonly #sequence = { next: 1 }
  #mids = 0
  #closed = false
  readonly #joined: SignallingResult<'join'>

  constructor(
    joined: SignallingResult<'join'>,
    readonly certificate: Certificate,
    { capacityKbps, videoCodecs, uplink }: LinkOptions = {},
  ) {
    this.#joined = joined

    this.#cname = joined.connectionId
    this.rtpCapabilities = receiverCapabilities(joined.routerRtpCapabilities, videoCodecs)
    const feedback = {
      onKeyFrameRequest: (ssrc: number) =>
        this.publications.forEach((publication) => publication.requestKeyFrame(ssrc)),
      onNack: (ssrc: number, sequences: readonly number[]) =>
        this.publications.forEach((publication) => publication.resend(ssrc, sequences)),
    }
    this.#send = new MediaTransport(joined.sendTransport, certificate, feedback, uplink)
    this.#receive = new MediaTransport(joined.recvTransport, certificate, {
      onRtp: (packet, headerLength, keys) => this.receiving.onRtp(packet, headerLength, keys),
      onSenderReport: (ssrc, middleNtp) => this.receiving.onSenderReport(ssrc, middleNtp),
    })
    this.receiving = new Receiving(
      this.#receive,
      randomInt(1, 0xffff_ffff),
      this.#cname,
      new TransportFeedback(capacityKbps),
      extensionId(joined.routerRtpCapabilities, EXTENSION.transportSequence),
    )
  }

  /** Whether it has stopped sending and receiving. */
  get isClosed(): boolean {
    return this.#closed
  }

  transport(direction: TransportDirection): MediaTransport {
    return direction === 'send' ? this.#send : this.#receive
  }

  /** Creates a publication that `start` begins to send. */
  publication(options: PublishOptions): Publication {
    return new Publication(
      {
        transport: this.#send,
        capabilities: this.#joined.routerRtpCapabilities,
        cname: this.#cname,
        sequence: this.#sequence,
        nextMid: () => String(this.#mids++),
        maxSendKbps: this.#joined.maxSendKbps,
      },
      options,
    )
  }

  start(publication: Publication): void {
    // The server may accept a publication while the participant closes.
    if (this.#closed) return
    this.publications.add(publication)
    publication.start()
  }

  stop(publication: Publication): void {
    this.publications.delete(publication)
    publication.stop()
  }

  restartIce(direction: TransportDirection, remote: IceParameters, newPort: boolean): Promise<void> {
    return this.transport(direction).restartIce(remote, { newPort })
  }

  figures(): Record<TransportDirection, TransportFigures> {
    return { send: this.#send.figures, recv: this.#receive.figures }
  }

  close(): void {
    this.#closed = true
    for (const publication of this.publications) this.stop(publication)
    this.receiving.clear()
    this.#send.close()
    this.#receive.close()
  }
}
