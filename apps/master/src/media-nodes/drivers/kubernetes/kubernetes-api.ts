import type { z } from 'zod'
import { type ApiConnection, KubernetesError } from './api-connection.js'
import { Bookmark, KubernetesNode, Pod, PodList, PodTemplate, Status, WatchEvent } from './kubernetes-objects.js'

/** Pods of one page of a list. */
const PAGE = 500
/** Attempts at a list whose pages expire before the last one is read. */
const LISTS = 3
/** The server ends a watch after this time, so that a dead connection is detected, s. */
const WATCH_SECONDS = 60
/** A watch that the server does not end is ended this much later, ms. */
const WATCH_MARGIN_MS = 10_000

interface Pods {
  items: Pod[]
  /** A watch from here on misses nothing. */
  resourceVersion: string
}

export type PodEvent =
  { type: 'ADDED' | 'MODIFIED' | 'DELETED'; pod: Pod } | { type: 'BOOKMARK'; resourceVersion: string }

const hasStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof KubernetesError && statuses.includes(error.status)

/** The operations of the Kubernetes API that the driver needs, in one namespace. All of them may be repeated. */
export class KubernetesApi {
  constructor(
    private readonly connection: ApiConnection,
    private readonly namespace: string,
  ) {}

  /** Undefined when there is none. */
  podTemplate(name: string, signal?: AbortSignal): Promise<PodTemplate | undefined> {
    return this.#get(`${this.#path('podtemplates')}/${name}`, PodTemplate, signal)
  }

  /** Undefined when there is none. */
  pod(name: string, signal?: AbortSignal): Promise<Pod | undefined> {
    return this.#get(`${this.#path('pods')}/${name}`, Pod, signal)
  }

  /** A machine; undefined when there is none. */
  node(name: string): Promise<KubernetesNode | undefined> {
    return this.#get(`/api/v1/nodes/${name}`, KubernetesNode)
  }

  /** False when there is a pod of this name. */
  async createPod(manifest: object, signal: AbortSignal): Promise<boolean> {
    try {
      await this.connection.request({ method: 'POST', path: this.#path('pods'), body: manifest, signal })
      return true
    } catch (error) {
      if (error instanceof KubernetesError && error.reason === 'AlreadyExists') return false
      throw error
    }
  }

  /** Sets annotations; null removes one. False when there is no such pod. */
  async annotatePod(name: string, annotations: Readonly<Record<string, string | null>>): Promise<boolean> {
    try {
      await this.connection.request({
        method: 'PATCH',
        path: `${this.#path('pods')}/${name}`,
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations } },
      })
      return true
    } catch (error) {
      if (hasStatus(error, 404)) return false
      throw error
    }
  }

  /** Orders the end of the pod with this uid. Does nothing when there is no such pod any more. */
  async deletePod({ name, uid }: { name: string; uid?: string }, graceSeconds: number | undefined): Promise<void> {
    try {
      await this.connection.request({
        method: 'DELETE',
        path: `${this.#path('pods')}/${name}`,
        body: {
          ...{ kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
          ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
          ...(uid !== undefined && { preconditions: { uid } }),
        },
      })
    } catch (error) {
      // A conflict: a pod with this name and another uid.
      if (!hasStatus(error, 404, 409)) throw error
    }
  }

  /** All pods with these labels, page by page. A list that took too long begins again from the start. */
  async pods(labelSelector: string, signal?: AbortSignal): Promise<Pods> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages(labelSelector, signal)
      } catch (error) {
        if (!hasStatus(error, 410) || attempt === LISTS) throw error
      }
    }
  }

  async #pages(labelSelector: string, signal?: AbortSignal): Promise<Pods> {
    const items: Pod[] = []
    for (let page = ''; ;) {
      const query = { labelSelector, limit: String(PAGE), ...(page !== '' && { continue: page }) }
      const answer = await this.connection.request({ method: 'GET', path: this.#path('pods'), query, signal })
      const list = PodList.parse(answer)
      items.push(...list.items)
      page = list.metadata.continue
      if (page === '') return { items, resourceVersion: list.metadata.resourceVersion }
    }
  }

  /** The changes since `resourceVersion`, for about a minute. @throws KubernetesError 410 when these are not kept any more */
  async *watchPods(labelSelector: string, resourceVersion: string, signal: AbortSignal): AsyncGenerator<PodEvent> {
    const lines = this.connection.lines({
      method: 'GET',
      path: this.#path('pods'),
      query: {
        ...{ labelSelector, resourceVersion, watch: 'true', allowWatchBookmarks: 'true' },
        timeoutSeconds: String(WATCH_SECONDS),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(WATCH_SECONDS * 1_000 + WATCH_MARGIN_MS)]),
    })
    for await (const line of lines) yield podEvent(line)
  }

  async #get<T extends z.ZodType>(path: string, schema: T, signal?: AbortSignal): Promise<z.output<T> | undefined> {
    try {
      return schema.parse(await this.connection.request({ method: 'GET', path, signal }))
    } catch (error) {
      if (hasStatus(error, 404)) return undefined
      throw error
    }
  }

  #path(resource: 'pods' | 'podtemplates'): string {
    return `/api/v1/namespaces/${this.namespace}/${resource}`
  }
}

function podEvent(line: string): PodEvent {
  const { type, object } = WatchEvent.parse(JSON.parse(line))
  switch (type) {
    case 'ERROR': {
      const { code, reason, message } = Status.parse(object)
      throw new KubernetesError(code, reason, message)
    }
    case 'BOOKMARK':
      return { type, resourceVersion: Bookmark.parse(object).metadata.resourceVersion }
    default:
      return { type, pod: Pod.parse(object) }
  }
}
