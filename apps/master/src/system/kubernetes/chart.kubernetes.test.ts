/** @quiet it runs a whole cluster */
import { anyObject, KubernetesCluster, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Call } from './fixtures/calls.js'
import { READY_MS, Release } from './fixtures/release.js'

const TIMEOUT_MS = 2 * READY_MS
const NODES = [{ name: 'node-1' }, { name: 'node-2' }]

let cluster: KubernetesCluster
let release: Release
beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: NODES })
  release = await Release.prepare(cluster, 'calls')
}, TIMEOUT_MS)
afterAll(() => cluster?.stop(), TIMEOUT_MS)

const revisions = async (): Promise<unknown> => JSON.parse(await release.run('history', '--output', 'json'))
/** Without the pod of "helm test", which has ended and which helm keeps for its output. */
const objectsLeft = async (): Promise<string[]> => {
  const lists = ['/api/v1|services', '/api/v1|podtemplates', '/apis/apps/v1|deployments', '/apis/apps/v1|statefulsets']
  const found = await Promise.all(
    lists.map((each) => {
      const [group, kind] = each.split('|')
      return cluster.api.list(anyObject, `${group}/namespaces/${release.namespace}/${kind}`)
    }),
  )
  const running = cluster.pods(release.namespace).filter(({ status }) => status.phase !== 'Succeeded')
  return [...found.flat(), ...running].map(({ metadata }) => metadata.name)
}

describe('a release of the chart', () => {
  it(
    'is a working service with the default values',
    async () => {
      await release.install()
      await release.ready({ masters: 2, nodes: 1 })
      const { id } = await release.api.createSession()
      expect((await release.api.getSession(id)).mediaNodeId).toBeUndefined()
      await release.api.deleteSession(id)
    },
    TIMEOUT_MS,
  )

  it(
    'passes its own test',
    async () => {
      expect(await release.run('test')).toMatch(/Phase:\s+Succeeded/)
    },
    TIMEOUT_MS,
  )

  it(
    'keeps its generated secrets and its data over an upgrade and a rollback',
    async () => {
      await release.api.createSession({ customSessionId: 'before' })
      await release.upgrade({ mediaNodes: { replicas: 2 } })
      await release.ready({ masters: 2, nodes: 2 })
      expect((await release.api.getSession('before')).id).toBe('before')
      await release.run('rollback', '1')
      await release.ready({ masters: 2, nodes: 1 })
      expect((await release.api.getSession('before')).id).toBe('before')
      expect(await revisions()).toHaveLength(3)
    },
    TIMEOUT_MS,
  )

  it(
    'leaves nothing that runs after its removal',
    async () => {
      await release.run('uninstall')
      await until('all its objects are gone', async () => (await objectsLeft()).length === 0, READY_MS)
      expect(cluster.kubelet.pids).toEqual([])
    },
    TIMEOUT_MS,
  )
})

describe('in a namespace that enforces the level restricted of PodSecurity, a release', () => {
  let strict: Release
  beforeAll(async () => {
    strict = await Release.prepare(cluster, 'strict', 'restricted')
  })

  it(
    'serves calls and passes its test where media nodes use no ports of their machine',
    async () => {
      // Nothing forwards UDP from the ports of machines here: clients reach the pod itself.
      const announcedAddress = { sources: ['interface'] }
      const mediaNodes = { rtcPort: 30_000, exposure: { mode: 'nodePort' }, announcedAddress }
      await strict.install({ mediaNodes, playground: { enabled: true } })
      await strict.ready({ masters: 2, nodes: 1 })
      // The job that migrates the database belongs to upgrades.
      await strict.upgrade({ mediaNodes, playground: { enabled: true } })
      expect(await strict.run('test')).toMatch(/Phase:\s+Succeeded/)
      const call = await Call.start(strict.api)
      await call.close()
    },
    TIMEOUT_MS,
  )

  it(
    'gets no media node with ports of its machine, and Kubernetes says why',
    async () => {
      await strict.upgrade({ mediaNodes: { rtcPort: 20_000, exposure: { mode: 'hostPort' } } })
      const refusal = await until(
        'a pod is refused',
        async () => (await strict.warnings()).find((each) => each.includes('violates PodSecurity')),
        READY_MS,
      )
      expect(refusal).toMatch(
        /violates PodSecurity "restricted:latest": hostPort \(container "media-node-\S+" uses hostPort/,
      )
      expect(strict.readyPods('master')).toHaveLength(2)
    },
    TIMEOUT_MS,
  )
})
