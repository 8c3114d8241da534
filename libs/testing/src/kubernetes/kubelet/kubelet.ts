import type { OutputLine } from '@session-service/local-stack'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ControlPlane } from '../control-plane/control-plane.js'
import { claim, dataObject, persistentVolume, pod, type Pod } from '../control-plane/objects.js'
import type { AddressBlock } from '../addresses/addresses.js'
import type { ReadData } from './environment.js'
import { heartbeat, registerNode, type NodeOptions, type RigNode } from './nodes.js'
import { PodRunner } from './pod-runner.js'
import { PodSandbox } from './pod-sandbox.js'
import { join } from 'node:path'

const HEARTBEAT_MS = 2_000
const OVER = new Set(['Succeeded', 'Failed'])
const tokenAnswer = z.looseObject({ status: z.looseObject({ token: z.string() }) })

interface KubeletOptions {
  plane: ControlPlane
  block: AddressBlock
  hostsFile: string
  builds: ReadonlyMap<string, string>
  onLine: (pod: Pod, container: string) => OutputLine
}

/** Plays the kubelets of all nodes: runs the programs of this project for the pods that are bound to them. */
export class Kubelet {
  readonly nodes: RigNode[] = []
  /** Faults: images that cannot be pulled, and pods whose readiness probes fail. */
  readonly hiddenImages = new Set<string>()
  readonly #unready: ((pod: Pod) => boolean)[] = []
  readonly #options: KubeletOptions
  readonly #runners = new Map<string, PodRunner>()
  readonly #pods = new Map<string, Pod>()
  readonly #stopped = new AbortController()
  readonly #working: Promise<void>[] = []

  constructor(options: KubeletOptions) {
    this.#options = options
    const { api } = options.plane
    const watcher = { changed: (each: Pod) => this.#changed(each), deleted: (each: Pod) => this.#deleted(each) }
    this.#working.push(api.follow(pod, '/api/v1/pods', watcher, this.#stopped.signal), this.#beat())
  }

  async addNode(options: NodeOptions): Promise<RigNode> {
    const node = await registerNode(this.#options.plane.api, this.#options.block.nextNode(), options)
    this.nodes.push(node)
    for (const each of this.#pods.values()) this.#changed(each)
    return node
  }

  /** All pods, as the API server has them. */
  get pods(): Pod[] {
    return [...this.#pods.values()]
  }

  /** The processes of all containers. */
  get pids(): number[] {
    return [...this.#runners.values()].flatMap(({ pids }) => pids)
  }

  /** The processes of a pod's containers. */
  pidsOf(name: string): number[] {
    return this.#find(name)?.pids ?? []
  }

  /** The readiness probes of these pods fail from now on; returns a function that ends the fault. */
  holdUnready(matches: (pod: Pod) => boolean): () => void {
    this.#unready.push(matches)
    return () => void this.#unready.splice(this.#unready.indexOf(matches), 1)
  }

  /** The machine of the node stops: its programs end at once and it reports nothing more. */
  async killNode(node: RigNode): Promise<void> {
    node.isLost = true
    const lost = [...this.#runners].filter(([, runner]) => runner.pod.spec.nodeName === node.name)
    for (const [uid] of lost) this.#runners.delete(uid)
    await Promise.all(lost.map(([, runner]) => runner.lose()))
  }

  /** The kubelet ends a pod for a reason of its own, such as a lack of memory. */
  async failPod(name: string, reason: string, message: string): Promise<void> {
    await this.#find(name)?.fail(reason, message)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    const runners = [...this.#runners.values()]
    await Promise.all(runners.map((each) => each.lose()))
    await Promise.all(this.#working)
  }

  #find(name: string): PodRunner | undefined {
    return [...this.#runners.values()].find((each) => each.pod.metadata.name === name)
  }

  #changed(object: Pod): void {
    const { uid, deletionTimestamp } = object.metadata
    this.#pods.set(uid, object)
    const node = this.nodes.find(({ name }) => name === object.spec.nodeName)
    if (!node || node.isLost || this.#stopped.signal.aborted) return
    const runner = this.#runners.get(uid)
    if (runner) return runner.update(object)
    if (OVER.has(object.status.phase) && deletionTimestamp === undefined) return
    const started = new PodRunner(object, {
      api: this.#options.plane.api,
      sandbox: this.#sandbox(object, node),
      isHeldUnready: (each) => this.#unready.some((matches) => matches(each)),
    })
    this.#runners.set(uid, started)
    if (deletionTimestamp !== undefined) started.update(object)
  }

  #deleted({ metadata }: Pod): void {
    this.#pods.delete(metadata.uid)
    const runner = this.#runners.get(metadata.uid)
    this.#runners.delete(metadata.uid)
    // Deleted without a grace period.
    void runner?.lose()
  }

  #sandbox(object: Pod, node: RigNode): PodSandbox {
    const { plane, hostsFile, builds, block } = this.#options
    const { metadata, spec } = object
    const url = new URL(plane.access.url)
    return new PodSandbox({
      folder: join(plane.folder, 'pods', metadata.uid),
      place: {
        nodeName: node.name,
        podIP: spec.hostNetwork ? node.address : block.nextPod(),
        hostIP: node.address,
        capacity: node.capacity,
      },
      read: this.#reader(metadata.namespace),
      volumes: {
        claimFolder: (name) => this.#claimFolder(metadata.namespace, name),
        token: (audience) => this.#token(object, audience),
      },
      hostsFile,
      programsFolder: plane.folder,
      apiServer: { host: url.hostname, port: url.port },
      builds,
      isHidden: (image) => this.hiddenImages.has(image),
      onLine: (container) => this.#options.onLine(object, container),
    })
  }

  #reader(namespace: string): ReadData {
    return async (kind, name) => {
      const found = await this.#options.plane.api.find(dataObject, `/api/v1/namespaces/${namespace}/${kind}/${name}`)
      if (!found || kind === 'configmaps') return found?.data
      const text = ([key, value]: [string, string]): [string, string] => [key, Buffer.from(value, 'base64').toString()]
      return Object.fromEntries(Object.entries(found.data).map(text))
    }
  }

  async #claimFolder(namespace: string, name: string): Promise<string | undefined> {
    const { api } = this.#options.plane
    const found = await api.find(claim, `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`)
    if (found?.status.phase !== 'Bound') return undefined
    const bound = await api.find(persistentVolume, `/api/v1/persistentvolumes/${found.spec.volumeName}`)
    return bound?.spec.hostPath?.path
  }

  async #token({ metadata, spec }: Pod, audience: string | undefined): Promise<string> {
    const path = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName}/token`
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: metadata.name, uid: metadata.uid }
    const wanted = { boundObjectRef, ...(audience !== undefined && { audiences: [audience] }) }
    const answer = await this.#options.plane.api.create(path, { spec: wanted })
    return tokenAnswer.parse(answer).status.token
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const alive = this.nodes.filter(({ isLost }) => !isLost)
      await Promise.all(alive.map((node) => heartbeat(this.#options.plane.api, node).catch(() => {})))
      await sleep(HEARTBEAT_MS, undefined, { signal }).catch(() => {})
    }
  }
}
