import { Logger } from '@nestjs/common'
import { KubernetesError } from './api-connection.js'
import type { KubernetesApi } from './kubernetes-api.js'
import { externalAddress } from './pod-annotations.js'

/** An address that was read less than this long ago is used again, ms. */
const KEPT_MS = 60_000
/** A machine without an address is read again sooner: its cloud assigns one while it starts, ms. */
const RETRY_MS = 10_000

/** The external addresses of machines, read now and then. */
export class MachineAddresses {
  readonly #logger = new Logger(MachineAddresses.name)
  readonly #known = new Map<string, { address: string | undefined; at: number }>()
  #isForbidden = false

  constructor(private readonly api: Pick<KubernetesApi, 'node'>) {}

  async of(machine: string, now = performance.now()): Promise<string | undefined> {
    const known = this.#known.get(machine)
    if (known && now - known.at < (known.address === undefined ? RETRY_MS : KEPT_MS)) return known.address
    const address = await this.#read(machine)
    this.#known.set(machine, { address, at: now })
    return address
  }

  async #read(machine: string): Promise<string | undefined> {
    try {
      const node = await this.api.node(machine)
      this.#isForbidden = false
      return node && externalAddress(node)
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.status !== 403) throw error
      // The permission is needed only where media nodes get their address from their machine.
      if (!this.#isForbidden) this.#logger.log(`addresses of machines are not used: ${error.message}`)
      this.#isForbidden = true
      return undefined
    }
  }
}
