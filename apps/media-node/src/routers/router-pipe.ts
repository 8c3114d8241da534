import type { types } from 'mediasoup'

/** Workers of one machine talk over loopback: nothing to encrypt, but a burst may overflow a socket, hence RTX. */
const LOOPBACK = { listenInfo: { protocol: 'udp', ip: '127.0.0.1' }, enableRtx: true } as const

/** Two routers joined by a pair of transports, both ways. */
export class Link {
  private constructor(private readonly ends: ReadonlyMap<types.Router, types.PipeTransport>) {}

  static async open(one: types.Router, other: types.Router): Promise<Link> {
    const made = await Promise.allSettled([one, other].map((router) => router.createPipeTransport(LOOPBACK)))
    const ends = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const [first, second] = ends
    try {
      if (!first || !second) throw made.find((result) => result.status === 'rejected')?.reason
      await Promise.all([connect(first, second), connect(second, first)])
      return new Link(
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
    if (!end) throw new Error('the link does not lead to this router')
    return end
  }

  close(): void {
    for (const end of this.ends.values()) end.close()
  }
}

const connect = (from: types.PipeTransport, { tuple }: types.PipeTransport): Promise<void> =>
  from.connect({ ip: tuple.localAddress, port: tuple.localPort })
