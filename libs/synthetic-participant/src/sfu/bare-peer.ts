import {
  type ConnectionInfo,
  type DisconnectReason,
  isSignallingMethod,
  newSecret,
  newStreamId,
  type NotificationParams,
  RPC_CODE,
  RpcRequest,
  ServiceError,
  SIGNALLING_METHODS,
  SIGNALLING_WINDOWS,
  type SignallingCall,
  type SignallingMethod,
  type SignallingNotification,
  type SignallingResult,
  type StreamInfo,
  type SubscribedTrack,
  type TransportDirection,
} from '@session-service/contract'
import type { Consumer, Producer, RtpCapabilities, RtpParameters, WebRtcTransport } from 'mediasoup/types'
import type { WebSocket } from 'ws'
import type { BareSfu } from './bare-sfu.js'

interface BareStream {
  readonly info: StreamInfo
  readonly producers: readonly Producer[]
}

type JoinResult = SignallingResult<'join'>
type Handlers = { [M in SignallingMethod]?: (params: SignallingCall<M>) => Promise<SignallingResult<M>> }

/** A participant of a {@link BareSfu}. */
export class BarePeer {
  info: ConnectionInfo
  readonly streams = new Map<string, BareStream>()
  readonly consumers = new Map<string, Consumer[]>()
  readonly #resumeKey = newSecret()
  #socket!: WebSocket
  #joined = false
  readonly #sfu: BareSfu

  constructor(
    sfu: BareSfu,
    connectionId: string,
    socket: WebSocket,
    readonly transports: Record<TransportDirection, WebRtcTransport>,
  ) {
    this.#sfu = sfu

    this.info = { connectionId, createdAt: Date.now(), role: 'PUBLISHER', clientData: '', serverData: '' }
    this.#attach(socket)
  }

  notify<N extends SignallingNotification>(method: N, params: NotificationParams<N>): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  close(reason: DisconnectReason): void {
    const { connectionId } = this.info
    for (const direction of ['send', 'recv'] as const) this.transports[direction].close()
    if (!this.#sfu.peers.delete(connectionId)) return
    for (const streamId of this.streams.keys())
      this.#sfu.broadcast('streamDestroyed', { streamId, connectionId, reason })
    this.#sfu.broadcast('connectionDestroyed', { connectionId, reason })
  }

  readonly #handlers: Handlers = {
    join: (params) => Promise.resolve(this.#join(params.clientData)),
    ping: () => Promise.resolve({}),
    leave: () => Promise.resolve({}),
    reportExperience: () => Promise.resolve({}),
    connectTransport: async ({ direction, dtlsParameters }) => {
      await this.transports[direction].connect({ dtlsParameters })
      return {}
    },
    restartIce: async ({ direction }) => ({ iceParameters: await this.transports[direction].restartIce() }),
    publish: (params) => this.#publish(params),
    unpublish: async ({ streamId }) => this.#unpublish(streamId),
    changeStream: (params) => this.#changeStream(params),
    subscribe: (params) => this.#subscribe(params),
    unsubscribe: async ({ streamId }) => this.#unsubscribe(streamId),
    changeSubscription: (params) => this.#changeSubscription(params),
    signal: async ({ to, type, data }) => this.#signal(to, type, data),
  }

  #attach(socket: WebSocket): void {
    this.#socket = socket
    socket.on('message', (data: Buffer) => void this.#answer(socket, data.toString()))
    // A closed socket ends the participant, unless another socket has resumed it.
    socket.on('close', () => {
      if (this.#socket !== socket) return
      setTimeout(() => this.#socket === socket && this.close('networkDisconnect'), SIGNALLING_WINDOWS.evict).unref()
    })
  }

  async #answer(socket: WebSocket, text: string): Promise<void> {
    let id: number | string | null = null
    try {
      const request = RpcRequest.parse(JSON.parse(text))
      const { method, params } = request
      id = request.id ?? null
      const result = await this.#execute(socket, method, params ?? {})
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }))
      if (method === 'leave') this.#leave(socket)
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : 'INTERNAL'
      const message = error instanceof Error ? error.message : String(error)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: RPC_CODE[code], message } }))
    }
  }

  async #execute(socket: WebSocket, method: string, params: unknown): Promise<unknown> {
    if (!isSignallingMethod(method)) throw new ServiceError('INVALID', `unknown method ${method}`)
    const parsed = SIGNALLING_METHODS[method][0].safeParse(params)
    if (!parsed.success) throw new ServiceError('INVALID', parsed.error.message)
    if (method === 'resume') return this.#handOver(socket, parsed.data as SignallingCall<'resume'>)
    if (!this.#joined && method !== 'join') throw new ServiceError('NOT_ALLOWED', 'join first')
    const handler = this.#handlers[method] as ((input: unknown) => Promise<unknown>) | undefined
    if (!handler) throw new ServiceError('DISABLED', `the bare SFU does not support ${method}`)
    return handler(parsed.data)
  }

  #join(clientData: string): JoinResult {
    this.#joined = true
    this.info = { ...this.info, createdAt: Date.now(), clientData }
    this.#sfu.broadcast('connectionCreated', this.info)
    this.#sfu.peers.set(this.info.connectionId, this)
    const { connectionId, createdAt } = this.info
    return {
      connectionId,
      sessionId: 'bare',
      role: 'PUBLISHER',
      record: false,
      createdAt,
      serverData: '',
      version: '0.0.0',
      resumeKey: this.#resumeKey,
      pingInterval: SIGNALLING_WINDOWS.ping,
      evictAfter: SIGNALLING_WINDOWS.evict,
      routerRtpCapabilities: this.#sfu.router.rtpCapabilities as JoinResult['routerRtpCapabilities'],
      sendTransport: this.#transportOptions('send'),
      recvTransport: this.#transportOptions('recv'),
      iceServers: [],
      simulcast: true,
      maxSendKbps: 0,
      minSendKbps: 0,
      snapshot: this.#snapshot(),
    }
  }

  #snapshot(): SignallingResult<'resume'>['snapshot'] {
    const peers = [...this.#sfu.peers.values()]
    const streams = peers.flatMap((peer) => [...peer.streams.values()].map(({ info }) => info))
    return { connections: this.#sfu.connections, streams, mediaEpoch: 1 }
  }

  #transportOptions(direction: TransportDirection): JoinResult['sendTransport'] {
    const { id, iceParameters, iceCandidates, dtlsParameters } = this.transports[direction]
    const { relayPort } = this.#sfu
    const candidates = relayPort ? iceCandidates.map((one) => ({ ...one, port: relayPort })) : iceCandidates
    return { id, iceParameters, iceCandidates: candidates, dtlsParameters }
  }

  /** The socket takes over from another one; its own unused participant is removed. */
  #handOver(socket: WebSocket, { connectionId, resumeKey }: SignallingCall<'resume'>): SignallingResult<'resume'> {
    const peer = this.#sfu.peers.get(connectionId)
    if (!peer || peer.#resumeKey !== resumeKey)
      throw new ServiceError('NOT_FOUND', 'no such participant', { subject: 'connection' })
    this.close('disconnect')
    socket.removeAllListeners()
    const old = peer.#socket
    peer.#attach(socket)
    old.close()
    return { role: 'PUBLISHER', record: false, snapshot: this.#snapshot() }
  }

  #leave(socket: WebSocket): void {
    this.close('disconnect')
    socket.close()
  }

  async #publish(params: SignallingCall<'publish'>): Promise<SignallingResult<'publish'>> {
    const { send } = this.transports
    if (params.dtlsParameters) await send.connect({ dtlsParameters: params.dtlsParameters })
    const producers = await Promise.all(
      params.tracks.map(({ kind, rtpParameters }) =>
        send.produce({
          kind,
          rtpParameters: rtpParameters as RtpParameters,
          paused: !(kind === 'audio' ? params.audioActive : params.videoActive),
        }),
      ),
    )
    const { connectionId } = this.info
    const streamId = newStreamId('CAM', connectionId)
    const createdAt = Date.now()
    const has = (kind: string): boolean => producers.some((producer) => producer.kind === kind)
    const mediaOptions = {
      hasAudio: has('audio'),
      ...(has('audio') && { audioActive: params.audioActive }),
      hasVideo: has('video'),
      ...(has('video') && { videoActive: params.videoActive, typeOfVideo: params.typeOfVideo }),
      filter: {},
    }
    const info: StreamInfo = { streamId, connectionId, createdAt, mediaOptions }
    this.streams.set(streamId, { info, producers })
    this.#sfu.broadcast('streamCreated', info, this)
    return { streamId, createdAt }
  }

  #own(streamId: string): BareStream {
    const stream = this.streams.get(streamId)
    if (!stream) throw new ServiceError('NOT_FOUND', `no stream ${streamId} of this participant`, { subject: 'stream' })
    return stream
  }

  #unpublish(streamId: string): SignallingResult<'unpublish'> {
    for (const producer of this.#own(streamId).producers) producer.close()
    this.streams.delete(streamId)
    const { connectionId } = this.info
    this.#sfu.broadcast('streamDestroyed', { streamId, connectionId, reason: 'unpublish' }, this)
    return {}
  }

  async #changeStream(params: SignallingCall<'changeStream'>): Promise<SignallingResult<'changeStream'>> {
    const { streamId, reason } = params
    const { producers } = this.#own(streamId)
    for (const producer of producers) {
      const property = producer.kind === 'audio' ? 'audioActive' : 'videoActive'
      const newValue = params[property]
      if (newValue === undefined) continue
      await (newValue ? producer.resume() : producer.pause())
      const { connectionId } = this.info
      this.#sfu.broadcast('streamPropertyChanged', {
        streamId,
        connectionId,
        changedProperty: property,
        newValue,
        reason,
      })
    }
    return {}
  }

  async #subscribe(params: SignallingCall<'subscribe'>): Promise<SignallingResult<'subscribe'>> {
    const { streamId } = params
    const stream = [...this.#sfu.peers.values()].flatMap((peer) => peer.streams.get(streamId) ?? [])[0]
    // First: the worker reports the end of the consumers of an ended stream later.
    if (!stream) throw new ServiceError('NOT_FOUND', `no stream ${streamId}`, { subject: 'stream' })
    if (this.consumers.has(streamId)) throw new ServiceError('CONFLICT', `already subscribed to ${streamId}`)
    const rtpCapabilities = params.rtpCapabilities as RtpCapabilities
    const consumers = await Promise.all(
      stream.producers.map(({ id }) => this.transports.recv.consume({ producerId: id, rtpCapabilities, paused: true })),
    )
    this.consumers.set(streamId, consumers)
    for (const consumer of consumers) {
      consumer.on('producerclose', () => this.consumers.delete(streamId))
      consumer.on('layerschange', (layers) => this.notify('layersChanged', { streamId, layers: layers ?? null }))
    }
    const tracks = consumers.map((consumer) => {
      const { id, producerId, kind, paused } = consumer
      return { id, producerId, kind, rtpParameters: consumer.rtpParameters as SubscribedTrack['rtpParameters'], paused }
    })
    return { createdAt: Date.now(), tracks }
  }

  #subscribed(streamId: string): Consumer[] {
    const consumers = this.consumers.get(streamId)
    if (!consumers) throw new ServiceError('NOT_FOUND', `not subscribed to ${streamId}`, { subject: 'stream' })
    return consumers
  }

  #unsubscribe(streamId: string): SignallingResult<'unsubscribe'> {
    for (const consumer of this.#subscribed(streamId)) consumer.close()
    this.consumers.delete(streamId)
    return {}
  }

  async #changeSubscription(
    params: SignallingCall<'changeSubscription'>,
  ): Promise<SignallingResult<'changeSubscription'>> {
    for (const consumer of this.#subscribed(params.streamId)) {
      const wanted = params[consumer.kind]
      if (wanted !== undefined) await (wanted ? consumer.resume() : consumer.pause())
      if (params.preferredLayers && consumer.kind === 'video') await consumer.setPreferredLayers(params.preferredLayers)
    }
    return {}
  }

  #signal(to: readonly string[], type: string | undefined, data: string): SignallingResult<'signal'> {
    const from = this.info.connectionId
    const message = { type: type ? `signal:${type}` : 'signal', data, from }
    for (const [connectionId, peer] of this.#sfu.peers) {
      if (to.length === 0 || to.includes(connectionId)) peer.notify('signal', message)
    }
    return {}
  }
}
