/** @quiet it runs a whole cluster */
import { KubernetesCluster, KubernetesError, type Pod, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Call } from './fixtures/calls.js'
import { READY_MS, Release } from './fixtures/release.js'

const TIMEOUT_MS = 3 * READY_MS
/** The servers have a machine of their own: Kubernetes never replaces a pod of a StatefulSet on a lost machine. */
const SERVERS = { role: 'servers' }
const MEDIA = { role: 'media' }
const NODES = [
  { name: 'servers', labels: SERVERS },
  ...['media-1', 'media-2', 'media-3', 'media-4'].map((name) => ({ name, labels: MEDIA })),
]

const values = (load: 'any' | 'none', scaling: object = {}) => ({
  nats: { nodeSelector: SERVERS },
  postgres: { nodeSelector: SERVERS },
  master: {
    nodeSelector: SERVERS,
    config: {
      SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: 1,
      SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: 2,
      // Any load exceeds the maximum, or one node can carry any load.
      SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: load === 'any' ? 0 : 100,
      SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: load === 'any' ? 0 : 99,
    },
  },
  mediaNodes: { nodeSelector: MEDIA, drainTimeout: 120, scaling: { mode: 'driver', min: 1, max: 3, ...scaling } },
})

let cluster: KubernetesCluster
let release: Release
const calls: Call[] = []
beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: NODES })
  release = await Release.prepare(cluster, 'scaled')
}, TIMEOUT_MS)
afterAll(async () => {
  await Promise.all(calls.map((call) => call.close()))
  await cluster?.stop()
}, TIMEOUT_MS)

const nodePods = (): Pod[] => release.pods('media-node')
const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name).toSorted()
const idOf = ({ metadata }: Pod): string => metadata.labels['session-service/node-id'] ?? ''
const podOf = async (call: Call): Promise<Pod> => {
  const { mediaNodeId } = await release.api.getSession(call.id)
  const found = nodePods().find((pod) => idOf(pod) === mediaNodeId)
  if (!found) throw new Error(`there is no pod of the media node ${mediaNodeId}`)
  return found
}

describe('the autoscaling driver for Kubernetes', () => {
  it(
    'starts pods of the template under load, up to the maximum',
    async () => {
      await release.install(values('any'))
      await until('three media nodes are ready', () => release.readyPods('media-node').length === 3, TIMEOUT_MS)
      await until('they are running', async () => (await release.runningNodes()).length === 3, READY_MS)
      expect(nodePods().every(({ metadata }) => metadata.ownerReferences[0]?.kind === 'PodTemplate')).toBe(true)
    },
    TIMEOUT_MS,
  )

  it(
    'removes the empty nodes, and never the one that has a session',
    async () => {
      calls.push(await Call.start(release.api))
      const kept = await podOf(calls[0]!)
      await release.upgrade(values('none'))
      await until('one media node is left', () => nodePods().length === 1, TIMEOUT_MS)
      expect(names(nodePods())).toEqual([kept.metadata.name])
      expect(await calls[0]?.interrupted(release.api)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'refuses the eviction of the last media node by its budget, and permits it with a second one',
    async () => {
      await release.upgrade(values('none', { min: 2 }))
      await until('two media nodes are ready', () => release.readyPods('media-node').length === 2, TIMEOUT_MS)
      const busy = await podOf(calls[0]!)
      const idle = nodePods().find(({ metadata }) => metadata.uid !== busy.metadata.uid)
      await until('an eviction is permitted', () => evicted(idle!), READY_MS)
      expect(await evicted(busy)).toBe(false)
      await until(
        'another pod replaces the evicted one',
        () =>
          release.readyPods('media-node').filter(({ metadata }) => metadata.uid !== idle?.metadata.uid).length === 2,
        TIMEOUT_MS,
      )
      expect(await calls[0]?.interrupted(release.api)).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'replaces the pod of a lost machine, and its session continues on another node',
    async () => {
      const lost = await podOf(calls[0]!)
      await cluster.kubelet.killNode(cluster.node(lost.spec.nodeName ?? ''))
      await until('the session is on another node', async () => idOf(await podOf(calls[0]!)) !== idOf(lost), TIMEOUT_MS)
      const moved = performance.timeOrigin + performance.now()
      await until('media flows again', () => calls[0]?.receives(moved), READY_MS)
      await until(
        'two media nodes run on other machines',
        () => release.readyPods('media-node').filter(({ spec }) => spec.nodeName !== lost.spec.nodeName).length === 2,
        TIMEOUT_MS,
      )
    },
    TIMEOUT_MS,
  )

  it(
    'gives up a pod that never becomes ready, and says why in the REST API',
    async () => {
      cluster.kubelet.hiddenImages.add('session-service/media-node:broken')
      await release.upgrade({
        ...values('none', { min: 3 }),
        mediaNodes: { ...values('none', { min: 3 }).mediaNodes, image: { tag: 'broken', variant: 'media' } },
      })
      await until(
        'a node has failed to launch',
        async () => (await release.api.listMediaNodes()).content.some(({ status }) => status === 'failed'),
        TIMEOUT_MS,
      )
      expect(await calls[0]?.interrupted(release.api)).toEqual([])
    },
    TIMEOUT_MS,
  )
})

/** False when a budget refuses it. */
async function evicted(pod: Pod): Promise<boolean> {
  try {
    await cluster.evict(pod)
    return true
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 429) return false
    throw error
  }
}
