import { spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { Journal } from '../stack/journal.js'
import type { KubernetesApi } from './control-plane/api-client.js'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.js'
import type { Pod } from './control-plane/objects.js'
import { Kubelet } from './kubelet/kubelet.js'
import { type NodeOptions, type Pressure, reportConditions, type RigNode } from './kubelet/nodes.js'
import { Provisioner } from './kubelet/provisioner.js'
import { AddressBlock } from './addresses/addresses.js'
import { ServiceNetwork } from './network/service-network.js'

export interface ClusterOptions {
  /** The machines; default one. */
  nodes?: readonly NodeOptions[]
  /** The roots of other builds by the tag of their images; other tags stand for this build. */
  builds?: ReadonlyMap<string, string>
}

/** A Kubernetes cluster on loopback: a real control plane, and machines that run our programs for their pods. */
export class KubernetesCluster {
  /** The output of all programs: `<pod>/<container> <line>`. */
  readonly journal: Journal
  readonly plane: ControlPlane
  readonly kubelet: Kubelet
  readonly network: ServiceNetwork
  readonly #provisioner: Provisioner
  readonly #block: AddressBlock

  private constructor(
    parts: { journal: Journal; plane: ControlPlane; kubelet: Kubelet; network: ServiceNetwork },
    provisioner: Provisioner,
    block: AddressBlock,
  ) {
    this.journal = parts.journal
    this.plane = parts.plane
    this.kubelet = parts.kubelet
    this.network = parts.network
    this.#provisioner = provisioner
    this.#block = block
  }

  static async start({
    nodes = [{ name: 'node-1' }],
    builds = new Map(),
  }: ClusterOptions = {}): Promise<KubernetesCluster> {
    const journal = new Journal()
    const block = await AddressBlock.claim()
    const plane = await startControlPlane(block)
    // Servers that root starts under another account enter the folders of their volumes.
    chmodSync(plane.folder, 0o755)
    const hostsFile = join(plane.folder, 'hosts.json')
    const provisioner = await Provisioner.start(plane)
    const kubelet = new Kubelet({
      plane,
      block,
      hostsFile,
      builds,
      onLine: ({ metadata }, container) => journal.writer(`${metadata.name}/${container}`),
    })
    const network = new ServiceNetwork(plane.api, hostsFile, () => kubelet.nodes.map(({ address }) => address))
    const cluster = new KubernetesCluster({ journal, plane, kubelet, network }, provisioner, block)
    try {
      for (const node of nodes) await kubelet.addNode(node)
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  get api(): KubernetesApi {
    return this.plane.api
  }

  /** The pods of a namespace whose labels have these values. */
  pods(namespace: string, labels: Readonly<Record<string, string>> = {}): Pod[] {
    const matches = ({ metadata }: Pod): boolean =>
      metadata.namespace === namespace &&
      Object.entries(labels).every(([name, value]) => metadata.labels[name] === value)
    return this.kubelet.pods.filter(matches)
  }

  node(name: string): RigNode {
    const found = this.kubelet.nodes.find((each) => each.name === name)
    if (!found) throw new Error(`there is no node ${name}`)
    return found
  }

  /** The URL of an ingress for a service, which may be created later. */
  openIngress(namespace: string, name: string, port: number): Promise<string> {
    return this.network.openIngress(this.#block.nextPod(), namespace, name, port)
  }

  /** Asks for the eviction of a pod, as `kubectl drain` does; rejects with status 429 when a budget forbids it. */
  evict({ metadata: { name, namespace } }: Pod): Promise<unknown> {
    return this.api.create(`/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
    })
  }

  /** The node reports a shortage, or none. */
  pressure(node: RigNode, pressure?: Pressure): Promise<unknown> {
    node.pressure = pressure
    return reportConditions(this.api, node)
  }

  /** Runs helm against this cluster; rejects with its output when it fails. */
  async helm(...args: string[]): Promise<string> {
    const home = join(this.plane.folder, 'helm')
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: home,
      KUBECONFIG: this.plane.kubeconfig,
      HELM_CACHE_HOME: join(home, 'cache'),
      HELM_CONFIG_HOME: join(home, 'config'),
      HELM_DATA_HOME: join(home, 'data'),
    }
    const child = spawn(this.plane.programs.helm, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code !== 0) throw new Error(`helm ${args.join(' ')} failed with ${code}:\n${output}`)
    return output
  }

  /** Ends everything; nothing remains. */
  async stop(): Promise<void> {
    await this.kubelet.stop()
    await this.network.stop()
    await this.#provisioner.stop()
    await this.plane.stop()
    this.#block.release()
  }
}

/** Whether the pod is ready by its condition. */
export const isReady = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')
