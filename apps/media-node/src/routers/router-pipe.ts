import type { types } from 'mediasoup'
import { LOOPBACK } from '../workers/listen-info.js'

/** Workers of one machine use loopback: SRTP is not needed, but a burst may overflow a socket, hence RTX. */
const PIPE = { listenInfo: LOOPBACK, enableRtx: true }

/** Two routers connected in both directions by a pair of pipe transports. */
export class RouterPipe {
  private constructor(private readonly ends: ReadonlyMap<types.Router, types.PipeTransport>) {}

  static async open(one: types.Router, other: types.Router): Promise<RouterPipe> {
    const created = await Promise.allSettled([one, other].map((router) => router.createPipeTransport(PIPE)))
    const ends = created.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const [first, second] = ends
    try {
      if (!first || !second) throw created.find((result) => result.status === 'rejected')?.reason
      await Promise.all([connect(first, second), connect(second, first)])
      return new RouterPipe(
        new Map([
          [one, first],
          [other, second],
        ]),
      )
    } catch (error) {
      for (const end of ends) end.close()
      throw error
    }
  }

  end(router: types.Router): types.PipeTransport {
    const end = this.ends.get(router)
    if (!end) throw new Error('the pipe does not connect this router')
    return end
  }

  close(): void {
    for (const end of this.ends.values()) end.close()
  }
}

const connect = (from: types.PipeTransport, { tuple }: types.PipeTransport): Promise<void> =>
  from.connect({ ip: tuple.localAddress, port: tuple.localPort })
