import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Balancer extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  host: string
}

/** A TCP load balancer: forwards each connection to the first target that accepts it. */
export async function startBalancer(targets: () => readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  const forward = (client: Socket, [port, ...others]: readonly number[]): void => {
    if (port === undefined) return void client.resetAndDestroy()
    const server = connect(port, '127.0.0.1')
    const tryNext = (): void => forward(client, others)
    server.once('error', tryNext)
    server.once('connect', () => {
      server.off('error', tryNext)
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        from.setNoDelay(true)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.pipe(to)
      }
    })
  }
  const server = createServer((client) => {
    open.add(client)
    client.once('close', () => open.delete(client))
    client.on('error', () => client.destroy())
    forward(client, targets())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
