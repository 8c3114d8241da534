import { backoffMs, sleep } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { KubernetesError } from './api-connection.js'
import type { KubernetesApi, PodEvent } from './kubernetes-api.js'
import type { Pod } from './kubernetes-objects.js'

const RETRY = { firstMs: 500, longestMs: 10_000 }
/** Without a completed list or an event of the watch for this long, the known pods are outdated, ms. */
const OUTDATED_MS = 90_000
/** The last states of this many deleted pods are kept. */
const KEPT_DELETED = 500

export interface WatchedPod {
  pod: Pod
  isDeleted: boolean
  /** When this watch first saw that its deletion was ordered, by `performance.now()`. */
  deletingSince: number | undefined
}

/** The pods of media nodes: a list, then a watch for their changes. */
export class PodWatch {
  readonly #logger = new Logger(PodWatch.name)
  readonly #pods = new Map<string, WatchedPod>()
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #syncedAt: number | undefined
  #failures = 0

  constructor(
    private readonly api: Pick<KubernetesApi, 'pods' | 'watchPods'>,
    private readonly labelSelector: string,
    private readonly retry = RETRY,
  ) {}

  /** The first call starts the watch. Rejects while the pods are unknown or outdated, so that no decision uses them. */
  pods(now = performance.now()): readonly WatchedPod[] {
    this.#running ??= this.#run()
    if (this.#syncedAt === undefined) throw new Error('the pods of Kubernetes have not been listed yet')
    if (now - this.#syncedAt > OUTDATED_MS) throw new Error('the Kubernetes API does not answer')
    return [...this.#pods.values()]
  }

  /** The pod of this name that is not deleted, as far as it is known. */
  find(name: string): WatchedPod | undefined {
    return [...this.#pods.values()].find(({ pod, isDeleted }) => pod.metadata.name === name && !isDeleted)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    let resourceVersion: string | undefined
    while (!signal.aborted) {
      try {
        resourceVersion ??= await this.#list(signal)
        const last = await this.#follow(resourceVersion, signal)
        // A server that ends each watch at once must not be asked in a loop.
        if (last === resourceVersion) await sleep(this.retry.firstMs, signal)
        resourceVersion = last
      } catch (error) {
        if (signal.aborted) return
        // The server no longer has the changes since then: the pods are listed again.
        if (error instanceof KubernetesError && error.status === 410) resourceVersion = undefined
        else this.#logger.warn({ err: error }, 'watching the pods of media nodes failed, will retry')
        await sleep(backoffMs(++this.#failures, this.retry), signal)
      }
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.api.pods(this.labelSelector, signal)
    const present = new Set(items.map(({ metadata }) => metadata.uid))
    for (const pod of items) this.#apply({ type: 'ADDED', pod })
    for (const [uid, { pod, isDeleted }] of this.#pods)
      if (!present.has(uid) && !isDeleted) this.#apply({ type: 'DELETED', pod })
    this.#syncedAt = performance.now()
    return resourceVersion
  }

  /** Applies the changes until the watch ends. Returns the version from which the next one continues. */
  async #follow(resourceVersion: string, signal: AbortSignal): Promise<string> {
    let last = resourceVersion
    try {
      for await (const event of this.api.watchPods(this.labelSelector, resourceVersion, signal)) {
        this.#syncedAt = performance.now()
        this.#failures = 0
        last = event.type === 'BOOKMARK' ? event.resourceVersion : event.pod.metadata.resourceVersion
        if (event.type !== 'BOOKMARK') this.#apply(event)
      }
    } catch (error) {
      // The next request continues after the last event that arrived before the failure.
      if (last === resourceVersion || (error instanceof KubernetesError && error.status === 410)) throw error
      return last
    }
    // The server has answered, also when nothing has changed.
    this.#syncedAt = performance.now()
    return last
  }

  #apply({ type, pod }: Exclude<PodEvent, { type: 'BOOKMARK' }>): void {
    const { uid, deletionTimestamp } = pod.metadata
    const since = this.#pods.get(uid)?.deletingSince
    this.#pods.delete(uid)
    this.#pods.set(uid, {
      pod,
      isDeleted: type === 'DELETED',
      deletingSince: deletionTimestamp ? (since ?? performance.now()) : undefined,
    })
    const deleted = [...this.#pods].filter(([, { isDeleted }]) => isDeleted)
    for (const [old] of deleted.slice(0, -KEPT_DELETED)) this.#pods.delete(old)
  }
}
