import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BareSfu } from '@session-service/synthetic-participant'
import type { types } from 'mediasoup'
import { type WebSocket, WebSocketServer } from 'ws'
import { serveHelper } from '../helper/serve.js'
import { STEPWISE_SERVER } from './api.js'
import { type Step, StepRequest, STEPS } from './steps.js'

const HOST = '127.0.0.1'

/** One subscribing page: its transport and consumers, which close with its socket. */
class Subscriber {
  #transport: types.WebRtcTransport | undefined
  readonly #consumers = new Map<string, types.Consumer>()

  constructor(
    private readonly sfu: BareSfu,
    private readonly initialOutgoingBitrate: number,
    private readonly announcedHost: string | undefined,
  ) {}

  close(): void {
    this.#transport?.close()
  }

  async handle(step: Step, data: unknown): Promise<unknown> {
    switch (step) {
      case 'getRouterRtpCapabilities':
        return this.sfu.router.rtpCapabilities
      case 'getProducers':
        return this.#producers().map(({ id, kind }) => ({ id, kind }))
      case 'createTransport':
        return this.#createTransport()
      case 'connectTransport':
        return this.#connectTransport(STEPS.connectTransport.parse(data).dtlsParameters)
      case 'consume':
        return this.#consume(STEPS.consume.parse(data))
      case 'resume':
        return this.#resume(STEPS.resume.parse(data).consumerId)
    }
  }

  #producers(): types.Producer[] {
    return [...this.sfu.peers.values()].flatMap(({ streams }) =>
      [...streams.values()].flatMap(({ producers }) => [...producers]),
    )
  }

  async #createTransport(): Promise<unknown> {
    const { webRtcServer } = this.sfu
    const { initialOutgoingBitrate: initialAvailableOutgoingBitrate } = this
    this.#transport = await this.sfu.router.createWebRtcTransport({ webRtcServer, initialAvailableOutgoingBitrate })
    const { id, iceParameters, dtlsParameters } = this.#transport
    const iceCandidates = this.#transport.iceCandidates.map((candidate) => this.#announced(candidate))
    return { id, iceParameters, iceCandidates, dtlsParameters }
  }

  #announced(candidate: types.IceCandidate): types.IceCandidate {
    const address = this.announcedHost
    return address === undefined ? candidate : { ...candidate, address, ip: address }
  }

  async #connectTransport(dtlsParameters: Record<string, unknown>): Promise<unknown> {
    await this.#transport?.connect({ dtlsParameters: dtlsParameters as unknown as types.DtlsParameters })
    return {}
  }

  async #consume(wanted: { producerId: string; rtpCapabilities: Record<string, unknown> }): Promise<unknown> {
    const { producerId } = wanted
    const rtpCapabilities = wanted.rtpCapabilities as unknown as types.RtpCapabilities
    const consumer = await this.#transport?.consume({ producerId, rtpCapabilities, paused: true })
    if (!consumer) throw new Error('consume needs createTransport first')
    this.#consumers.set(consumer.id, consumer)
    const { id, kind, rtpParameters } = consumer
    return { id, producerId, kind, rtpParameters }
  }

  async #resume(consumerId: string): Promise<unknown> {
    await this.#consumers.get(consumerId)?.resume()
    return {}
  }
}

function handleSocket(socket: WebSocket, subscriber: Subscriber): void {
  const answer = async (text: string): Promise<void> => {
    const { id, step, data } = StepRequest.parse(JSON.parse(text))
    socket.send(JSON.stringify({ id, data: await subscriber.handle(step, data) }))
  }
  socket.on('message', (message: Buffer) => {
    answer(message.toString()).catch((error: unknown) => {
      console.error(error)
      socket.terminate()
    })
  })
  socket.on('close', () => subscriber.close())
}

serveHelper(STEPWISE_SERVER, {
  start: async ({ initialOutgoingBitrate, announcedHost }) => {
    const sfu = await BareSfu.start({ initialOutgoingBitrate })
    const http = createServer().listen(0, HOST)
    await once(http, 'listening')
    const sockets = new WebSocketServer({ server: http, perMessageDeflate: false })
    sockets.on('connection', (socket) =>
      handleSocket(socket, new Subscriber(sfu, initialOutgoingBitrate, announcedHost)),
    )
    const url = `ws://${HOST}:${(http.address() as AddressInfo).port}`
    return { token: sfu.token(), url, mediaPort: await sfu.mediaPort() }
  },
})
