import { Device, type types } from 'mediasoup-client'
import type { Step } from '../steps.js'
import { parameter, stage, stopwatch } from './stopwatch.js'

interface Answer {
  id: number
  data: unknown
}

/** Requests and answers on a WebSocket. */
class SignallingSocket {
  readonly #pending = new Map<number, (data: unknown) => void>()
  #requests = 0

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(data as string) as Answer
      this.#pending.get(answer.id)?.(answer.data)
    })
  }

  static async open(url: string): Promise<SignallingSocket> {
    const socket = new WebSocket(url)
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    return new SignallingSocket(socket)
  }

  request<T>(step: Step, data: object = {}): Promise<T> {
    const id = ++this.#requests
    this.socket.send(JSON.stringify({ id, step, data }))
    return new Promise<T>((resolve) => this.#pending.set(id, resolve as (data: unknown) => void))
  }
}

/** Joins step by step, as in mediasoup's documentation and examples. */
async function watch(): Promise<void> {
  const signalling = await SignallingSocket.open(parameter('url'))
  const [routerRtpCapabilities, producers] = await Promise.all([
    signalling.request<types.RtpCapabilities>('getRouterRtpCapabilities'),
    signalling.request<{ id: string }[]>('getProducers'),
  ])
  const device = new Device()
  await device.load({ routerRtpCapabilities })
  const transport = device.createRecvTransport(await signalling.request<types.TransportOptions>('createTransport'))
  transport.on('connect', ({ dtlsParameters }, done, failed) => {
    signalling.request('connectTransport', { transportId: transport.id, dtlsParameters }).then(() => done(), failed)
  })
  const stream = new MediaStream()
  const consume = async (producerId: string): Promise<void> => {
    const options = { transportId: transport.id, producerId, rtpCapabilities: device.recvRtpCapabilities }
    const consumer = await transport.consume(await signalling.request<types.ConsumerOptions>('consume', options))
    stream.addTrack(consumer.track)
    await signalling.request('resume', { consumerId: consumer.id })
  }
  await Promise.all(producers.map(({ id }) => consume(id)))
  const video = document.createElement('video')
  video.autoplay = true
  video.srcObject = stream
  stage().append(video)
}

window.join = async () => {
  const firstPicture = stopwatch()
  await watch()
  return firstPicture
}
window.ready = true
