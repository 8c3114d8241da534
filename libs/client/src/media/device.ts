import { ServiceError } from '@session-service/contract'
import { Device, detectDevice, type types } from 'mediasoup-client'
import { Chrome111 } from 'mediasoup-client/handlers/Chrome111'
import { Firefox120 } from 'mediasoup-client/handlers/Firefox120'
import { Safari12 } from 'mediasoup-client/handlers/Safari12'

type HandlerFactory = types.HandlerFactory
type Direction = types.HandlerGetNativeRtpCapabilitiesOptions['direction']

const HANDLERS = { Chrome111, Firefox120, Safari12 } as const

/** The browser's RTP capabilities, queried once for each page, because a query creates a peer connection. */
const queried = new Map<Direction, Promise<types.RtpCapabilities>>()

function queryCapabilities(factory: HandlerFactory, direction: Direction): Promise<types.RtpCapabilities> {
  const known = queried.get(direction)
  if (known) return known
  const answer = factory.getNativeRtpCapabilities({ direction })
  queried.set(direction, answer)
  answer.catch(() => queried.delete(direction))
  return answer
}

/** Throws DISABLED when the library does not support the WebRTC of this browser. */
export function requireWebRtc(): HandlerFactory {
  const name = detectDevice()
  if (!name || !(name in HANDLERS) || typeof RTCPeerConnection === 'undefined')
    throw new ServiceError('DISABLED', 'this browser does not support the WebRTC features that the service needs')
  const factory = HANDLERS[name as keyof typeof HANDLERS].createFactory({})
  return name === 'Firefox120' ? forFirefox(factory) : factory
}

/** Adds to the handler of mediasoup-client the parts that it lacks in Firefox. */
function forFirefox(handlers: HandlerFactory): HandlerFactory {
  return {
    ...handlers,
    factory: (options) => {
      const handler = handlers.factory(options)
      // Private in mediasoup-client, whose version is pinned; `firefox.browser.test` finds out when it changes.
      const connection = Reflect.get(handler, '_pc') as RTCPeerConnection
      // It refuses to change ICE servers, as Firefox did before version 119: no ICE restart would succeed.
      handler.updateIceServers = async (iceServers) =>
        connection.setConfiguration({ ...connection.getConfiguration(), iceServers })
      const send = handler.send.bind(handler)
      handler.send = ({ encodings, ...rest }) => send({ ...rest, ...(encodings && { encodings: declared(encodings) }) })
      return handler
    },
  }
}

/** The server forwards only declared temporal layers: those that Firefox sends with simulcast. */
const declared = (encodings: types.RtpEncodingParameters[]): types.RtpEncodingParameters[] =>
  encodings.length > 1 ? encodings.map((encoding) => ({ ...encoding, scalabilityMode: 'L1T2' })) : encodings

/** Returns a device and starts the slow queries of its capabilities, so that the socket opens meanwhile. */
export function warmDevice(factory: HandlerFactory): Device {
  for (const direction of ['recvonly', 'sendonly'] as const) queryCapabilities(factory, direction).catch(() => {})
  return new Device({
    handlerFactory: { ...factory, getNativeRtpCapabilities: ({ direction }) => queryCapabilities(factory, direction) },
  })
}
