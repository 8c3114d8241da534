import { ServiceError } from '@session-service/contract'
import { Device, detectDevice, type types } from 'mediasoup-client'
import { Chrome111 } from 'mediasoup-client/handlers/Chrome111'
import { Firefox120 } from 'mediasoup-client/handlers/Firefox120'
import { Safari12 } from 'mediasoup-client/handlers/Safari12'

type HandlerFactory = types.HandlerFactory
type Direction = types.HandlerGetNativeRtpCapabilitiesOptions['direction']

const HANDLERS = { Chrome111, Firefox120, Safari12 } as const

/** What this browser can send and receive is asked for once a page: it costs a peer connection each time. */
const asked = new Map<Direction, Promise<types.RtpCapabilities>>()

function ask(factory: HandlerFactory, direction: Direction): Promise<types.RtpCapabilities> {
  const before = asked.get(direction)
  if (before) return before
  const answer = factory.getNativeRtpCapabilities({ direction })
  asked.set(direction, answer)
  answer.catch(() => asked.delete(direction))
  return answer
}

/** Throws DISABLED when this browser has no WebRTC that is known to work. */
export function requireWebRtc(): HandlerFactory {
  const name = detectDevice()
  if (!name || !(name in HANDLERS) || typeof RTCPeerConnection === 'undefined')
    throw new ServiceError('DISABLED', 'this browser does not support WebRTC as the service needs it')
  return HANDLERS[name as keyof typeof HANDLERS].createFactory({})
}

/** A device whose slow questions to the browser are already on their way, so that the socket opens meanwhile. */
export function warmDevice(factory: HandlerFactory): Device {
  for (const direction of ['recvonly', 'sendonly'] as const) ask(factory, direction).catch(() => {})
  return new Device({
    handlerFactory: { ...factory, getNativeRtpCapabilities: ({ direction }) => ask(factory, direction) },
  })
}
