import { publisherOf, type RpcRequest } from '@session-service/contract'
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import type { CallQueues } from '../../signalling/gateway/calls.js'
import { SignallingGateway } from '../../signalling/gateway/signalling.gateway.js'
import type { SocketEndpoint } from '../../signalling/gateway/socket-endpoint.js'
import type { ClientSocket } from '../../signalling/sockets/client-socket.js'
import { UnjoinedSockets } from '../../signalling/sockets/unjoined-sockets.js'
import { LegacyClient } from '../handlers/legacy-client.js'
import { LegacyDispatcher } from '../handlers/legacy-dispatcher.js'
import { isLegacyMethod, type LegacyMethod } from '../wire/calls.js'
import { LEGACY_ERROR } from '../wire/errors.js'
import { legacyNames, type LegacyNames } from '../wire/names.js'

/** A client sends some twenty candidates for each stream that it receives: they count a tenth of other calls. */
const SMALL_COST = 0.1
const SMALL_CALLS: ReadonlySet<string> = new Set(['onIceCandidate', 'ping'])

/**
 * The media node gets them in their order, and ends a subscription that waits for its language model when a later call
 * replaces it. The library gives up a call that would wait for the former one.
 */
const CAPTION_CALLS: ReadonlySet<LegacyMethod> = new Set(['subscribeToSpeechToText', 'unsubscribeFromSpeechToText'])
/** The methods that may take 10 s, each with the parameter by which their calls run in order. */
const SLOW_CALLS: ReadonlyMap<LegacyMethod, string> = new Map([
  ['applyFilter', 'streamId'],
  ['execFilterMethod', 'streamId'],
  ['removeFilter', 'streamId'],
])
/** The methods about the stream of the client; their calls run in order, those of `reconnectStream` included. */
const OWN_STREAM_CALLS: ReadonlySet<LegacyMethod> = new Set(['publishVideo', 'unpublishVideo', 'streamPropertyChanged'])
const OWN_STREAM = 'own stream'
/** The methods about one stream, each with the parameter by which their calls run in order. */
const STREAM_CALLS: ReadonlyMap<LegacyMethod, string> = new Map([
  ['prepareReceiveVideoFrom', 'sender'],
  ['receiveVideoFrom', 'sender'],
  ['reconnectStream', 'stream'],
])

/** The endpoint of browser libraries of version 2. */
@Injectable()
export class LegacyEndpoint implements SocketEndpoint, OnModuleInit {
  readonly path: string
  readonly unjoined = new UnjoinedSockets()
  readonly frameCost = SMALL_COST
  readonly #names: LegacyNames

  constructor(
    private readonly gateway: SignallingGateway,
    private readonly dispatcher: LegacyDispatcher,
    @Inject(MASTER_CONFIG) config: MasterConfig,
  ) {
    this.#names = legacyNames(config.SERVICE_COMPAT_PREFIX)
    this.path = this.#names.socketPath
  }

  onModuleInit(): void {
    this.gateway.serve(this)
  }

  /** The token comes with `joinRoom`, and some mobile clients do not even name the session. */
  refusal(): undefined {
    return undefined
  }

  dialect(): LegacyClient {
    return new LegacyClient(this.#names.serverStopped)
  }

  cost({ method }: RpcRequest): number {
    return SMALL_CALLS.has(method) ? 0 : 1 - SMALL_COST
  }

  handle(socket: ClientSocket, calls: CallQueues, request: RpcRequest): Promise<void> | void {
    const { method, id, params } = request
    if (method === 'ping') return socket.answer(id, { value: 'pong' })
    const client = socket.dialect
    if (!(client instanceof LegacyClient) || !isLegacyMethod(method)) {
      if (id !== undefined) socket.fail(id, LEGACY_ERROR.methodNotFound, `there is no method ${method}`)
      return
    }
    const task = (): Promise<void> => this.dispatcher.handle(socket, client, method, request)
    // The answer has all candidates of the server, which needs none of the client.
    if (method === 'onIceCandidate' || CAPTION_CALLS.has(method)) return task()
    const slowBy = SLOW_CALLS.get(method)
    if (slowBy !== undefined) return calls.runSlowly(textOf(params?.[slowBy]), task)
    return calls.runIn(queueOf(request, method, client), task)
  }
}

/** The key of the calls that run in order. */
function queueOf({ params }: RpcRequest, method: LegacyMethod, { participant }: LegacyClient): string {
  if (!participant) return ''
  const { roster } = participant
  if (OWN_STREAM_CALLS.has(method)) return OWN_STREAM
  // It names the connection that shows the stream.
  if (method === 'unsubscribeFromVideo') return roster.streamOf(textOf(params?.sender)) ?? ''
  const streamBy = STREAM_CALLS.get(method)
  const streamId = streamBy === undefined ? '' : textOf(params?.[streamBy])
  return publisherOf(streamId) === roster.ownId ? OWN_STREAM : streamId
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
