import { mapConcurrent, messageOf } from '@session-service/server-kit'
import { Logger, type OnApplicationShutdown } from '@nestjs/common'
import { type DrivenNode, type LaunchedNode, type NodeDriver, NodeLaunchError } from '../../driver/node-driver.js'
import type { NodeLaunch, NodeUse } from '../../driver/node-driver.js'
import { ApiConnection, KubernetesError } from './api-connection.js'
import type { KubernetesAccess } from './kubernetes-access.js'
import { drivenNode, isStuck } from './driven-node.js'
import { KubernetesApi } from './kubernetes-api.js'
import type { Pod, PodTemplate } from './kubernetes-objects.js'
import { MachineAddresses } from './machine-addresses.js'
import { deletionCost, missingAnnotations } from './pod-annotations.js'
import { isMadeFrom, NODE_ID_LABEL, nodeIdOf, podManifest, podName, templateHash } from './pod-manifest.js'
import { PodWatch } from './pod-watch.js'

/** The media node was drained, or its sessions were moved: what remains is to close its files, s. */
const DROP_GRACE_SECONDS = 30
const TEMPLATE_EVERY_MS = 5_000
const PATCHES_AT_ONCE = 4

interface KubernetesOptions {
  access: KubernetesAccess
  /** Empty: something else starts the pods. */
  podTemplate: string
  podSelector: string
}

/** Media nodes as pods: made from a PodTemplate, one for each node, or made by a Deployment and only annotated. */
export class KubernetesDriver implements NodeDriver, OnApplicationShutdown {
  readonly environment = 'kubernetes'
  readonly startsNodes: boolean
  readonly sharesMachine = false
  readonly #logger = new Logger(KubernetesDriver.name)
  readonly #connection: ApiConnection
  readonly #api: KubernetesApi
  readonly #watch: PodWatch
  readonly #addresses: MachineAddresses
  #template: { value: PodTemplate | undefined; at: number } | undefined

  constructor(private readonly options: KubernetesOptions) {
    this.startsNodes = options.podTemplate !== ''
    this.#connection = new ApiConnection(options.access)
    this.#api = new KubernetesApi(this.#connection, options.access.namespace)
    this.#watch = new PodWatch(this.#api, options.podSelector)
    this.#addresses = new MachineAddresses(this.#api)
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#watch.close()
    this.#connection.close()
  }

  async launch(node: NodeLaunch, signal: AbortSignal): Promise<LaunchedNode> {
    if (!this.startsNodes) throw new NodeLaunchError('a Deployment starts the media nodes')
    const { podTemplate } = this.options
    const name = podName(podTemplate, node.id)
    try {
      const template = await this.#api.podTemplate(podTemplate, signal)
      if (!template) throw new NodeLaunchError(`there is no PodTemplate ${podTemplate} in ${this.#namespace}`)
      const isNew = await this.#api.createPod(podManifest(template, node), signal)
      if (!isNew) requireOwn(await this.#api.pod(name, signal), node)
      this.#logger.log({ mediaNodeId: node.id, pod: name }, 'launched the pod of the media node')
      return { environmentId: node.environmentId || name }
    } catch (error) {
      if (error instanceof NodeLaunchError || signal.aborted) throw error
      // Wrong permissions, an exceeded quota, an invalid template: the API server says which.
      const what = error instanceof KubernetesError ? 'refused the pod' : 'does not answer'
      throw new NodeLaunchError(`Kubernetes ${what}: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Orders the end of the pod: the kubelet ends its processes within the grace period. */
  async drop({ id }: { id: string }): Promise<void> {
    if (!this.startsNodes) return
    const name = podName(this.options.podTemplate, id)
    const watched = this.#watch.find(name)
    if (watched && !isMadeFrom(watched.pod, this.options.podTemplate)) return
    const uid = watched?.pod.metadata.uid
    const grace = watched && isStuck(watched, performance.now()) ? 0 : DROP_GRACE_SECONDS
    await this.#api.deletePod({ name, ...(uid !== undefined && { uid }) }, grace)
  }

  async nodes(): Promise<readonly DrivenNode[]> {
    if (!this.startsNodes) return []
    const pods = this.#watch.pods().filter(({ pod }) => isMadeFrom(pod, this.options.podTemplate))
    const template = await this.#currentTemplate()
    const hash = template && templateHash(template)
    return pods.map((watched) => drivenNode(watched, hash, performance.now()))
  }

  /** Writes the annotations of pods whose values have changed: their deletion cost and the address of their machine. */
  async annotate(uses: readonly NodeUse[]): Promise<void> {
    const used = new Map(uses.map((use) => [use.id, use]))
    const alive = this.#watch.pods().filter(({ pod, isDeleted }) => !isDeleted && !pod.metadata.deletionTimestamp)
    await mapConcurrent(alive, PATCHES_AT_ONCE, async ({ pod }) => {
      const use = used.get(nodeIdOf(pod))
      // Masters choose the pods to remove themselves where they make them.
      const cost = use && !this.startsNodes ? deletionCost(use) : undefined
      const address = pod.spec.nodeName ? await this.#addresses.of(pod.spec.nodeName) : undefined
      const missing = missingAnnotations(pod, { cost, address })
      if (Object.keys(missing).length > 0) await this.#api.annotatePod(pod.metadata.name, missing)
    })
  }

  async #currentTemplate(): Promise<PodTemplate | undefined> {
    const now = performance.now()
    if (!this.#template || now - this.#template.at >= TEMPLATE_EVERY_MS)
      this.#template = { value: await this.#api.podTemplate(this.options.podTemplate), at: now }
    return this.#template.value
  }

  get #namespace(): string {
    return `the namespace ${this.options.access.namespace}`
  }
}

/** A pod of the same name is that of an earlier attempt to launch this node, or of another node. */
function requireOwn(pod: Pod | undefined, { id }: NodeLaunch): void {
  if (pod && pod.metadata.labels[NODE_ID_LABEL] !== id)
    throw new NodeLaunchError(`the pod ${pod.metadata.name} exists and is not that of media node ${id}`)
  if (!pod || pod.metadata.deletionTimestamp) throw new NodeLaunchError(`the pod of media node ${id} is being deleted`)
}
