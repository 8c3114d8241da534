import { Device, type types } from 'mediasoup-client'
import type { Step } from '../steps.js'
import { parameter, stage, stopwatch } from './stopwatch.js'

interface Answer {
  id: number
  data: unknown
}

/** Requests and answers on a socket. */
class Line {
  readonly #waiting = new Map<number, (data: unknown) => void>()
  #requests = 0

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(data as string) as Answer
      this.#waiting.get(answer.id)?.(answer.data)
    })
  }

  static async open(url: string): Promise<Line> {
    const socket = new WebSocket(url)
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    return new Line(socket)
  }

  ask<T>(step: Step, data: object = {}): Promise<T> {
    const id = ++this.#requests
    this.socket.send(JSON.stringify({ id, step, data }))
    return new Promise<T>((resolve) => this.#waiting.set(id, resolve as (data: unknown) => void))
  }
}

/** One step after the other, as mediasoup's own documentation and examples have it. */
async function watch(): Promise<void> {
  const line = await Line.open(parameter('url'))
  const [routerRtpCapabilities, producers] = await Promise.all([
    line.ask<types.RtpCapabilities>('getRouterRtpCapabilities'),
    line.ask<{ id: string }[]>('getProducers'),
  ])
  const device = new Device()
  await device.load({ routerRtpCapabilities })
  const transport = device.createRecvTransport(await line.ask<types.TransportOptions>('createTransport'))
  transport.on('connect', ({ dtlsParameters }, done, failed) => {
    line.ask('connectTransport', { transportId: transport.id, dtlsParameters }).then(() => done(), failed)
  })
  const stream = new MediaStream()
  const consume = async (producerId: string): Promise<void> => {
    const wanted = { transportId: transport.id, producerId, rtpCapabilities: device.recvRtpCapabilities }
    const consumer = await transport.consume(await line.ask<types.ConsumerOptions>('consume', wanted))
    stream.addTrack(consumer.track)
    await line.ask('resume', { consumerId: consumer.id })
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
