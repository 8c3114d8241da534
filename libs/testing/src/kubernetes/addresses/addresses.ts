import { createServer, type Server } from 'node:net'

/** Blocks that rigs choose from: 127.64.0.0/16 to 127.191.0.0/16, away from 127.0.0.0/16, which other tests use. */
const FIRST_BLOCK = 64
const LAST_BLOCK = 191
const LOCK_PORT = 30_009
const NODE_NET = 16
const FIRST_POD_NET = 32
const POD_NETS = 128

/**
 * The addresses of a cluster. Its programs listen in 127.<block>.0.0/16, where every address exists without any setup.
 * Kubernetes rejects loopback addresses of endpoints, so the API server knows the same addresses in 10.<block>.0.0/16.
 */
export class AddressBlock {
  #nodes = 0
  #pods = 0
  readonly #block: number
  readonly #lock: Server

  private constructor(block: number, lock: Server) {
    this.#block = block
    this.#lock = lock
  }

  /** Locks a block for this process: several clusters run side by side on one machine. */
  static async claim(start = FIRST_BLOCK + (process.pid % (LAST_BLOCK - FIRST_BLOCK))): Promise<AddressBlock> {
    for (let tried = 0; tried <= LAST_BLOCK - FIRST_BLOCK; tried++) {
      const block = FIRST_BLOCK + ((start - FIRST_BLOCK + tried) % (LAST_BLOCK - FIRST_BLOCK + 1))
      const lock = await listen(`127.${block}.255.254`)
      if (lock) return new AddressBlock(block, lock)
    }
    throw new Error('all blocks of loopback addresses are in use')
  }

  /** The option of the API server. */
  get serviceRange(): string {
    return `10.${this.#block}.0.0/20`
  }

  /** An address for a new node, on loopback. */
  nextNode(): string {
    return `127.${this.#block}.${NODE_NET}.${++this.#nodes}`
  }

  /** An address for a new pod, on loopback. They are used again after 32 000 pods. */
  nextPod(): string {
    const nth = this.#pods++ % (POD_NETS * 254)
    return `127.${this.#block}.${FIRST_POD_NET + Math.floor(nth / 254)}.${1 + (nth % 254)}`
  }

  release(): void {
    this.#lock.close()
  }
}

/** The address that the API server gets for one on loopback. */
export const clusterAddress = (loopback: string): string => loopback.replace(/^127\./, '10.')
/** The address on loopback of one that the API server has. */
export const loopbackAddress = (cluster: string): string => cluster.replace(/^10\./, '127.')

function listen(host: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', () => resolve(undefined))
    server.listen({ host, port: LOCK_PORT, exclusive: true }, () => resolve(server))
    server.unref()
  })
}
