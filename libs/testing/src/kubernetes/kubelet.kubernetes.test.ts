/** @quiet it runs a whole cluster */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { isReady, KubernetesCluster } from './cluster.js'
import type { Pod } from './control-plane/objects.js'
import { deployment, namespace, podTemplate } from './fixtures/manifests.js'

const SPACE = 'rig'
const TIMEOUT_MS = 120_000
const CORE = `/api/v1/namespaces/${SPACE}`
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${SPACE}/deployments`
const BATCH = `/apis/batch/v1/namespaces/${SPACE}/jobs`

let cluster: KubernetesCluster
beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: [{ name: 'node-1' }, { name: 'node-2' }] })
  await cluster.api.create('/api/v1/namespaces', namespace(SPACE))
}, TIMEOUT_MS)
afterAll(() => cluster?.stop(), TIMEOUT_MS)

/** A container that runs a script of Node. */
const script = (code: string, more: object = {}): object => ({
  image: 'session-service/master:1',
  command: ['node', '--eval', code],
  ...more,
})
const FOREVER = 'setInterval(() => {}, 1000)'
const pods = (app: string): Pod[] => cluster.pods(SPACE, { app })
const readyPods = (app: string): Pod[] => pods(app).filter(isReady)
const said = (app: string): string[] => cluster.journal.lines.filter((line) => line.startsWith(app))
const eventually = (what: string, holds: () => boolean): Promise<unknown> => until(what, holds, TIMEOUT_MS)
async function createPod(app: string, container: object, spec: object = {}): Promise<void> {
  const { metadata, ...rest } = podTemplate(app, container, spec) as { metadata: object }
  await cluster.api.create(`${CORE}/pods`, { metadata: { name: app, ...metadata }, ...rest })
}
const job = (app: string, code: string): object => ({
  metadata: { name: app },
  spec: { backoffLimit: 0, template: podTemplate(app, script(code), { restartPolicy: 'Never' }) },
})

describe('the process kubelet', () => {
  it(
    'ends a job with the exit code of its program',
    async () => {
      await cluster.api.create(BATCH, job('good', 'console.log("done")'))
      await cluster.api.create(BATCH, job('bad', 'process.exit(3)'))
      await eventually(
        'both are over',
        () => [...pods('good'), ...pods('bad')].map(({ status }) => status.phase).join() === 'Succeeded,Failed',
      )
      expect(said('good').some((line) => line.endsWith('done'))).toBe(true)
    },
    TIMEOUT_MS,
  )

  it(
    'runs init containers first, with the volumes of the pod',
    async () => {
      const volumeMounts = [{ name: 'shared', mountPath: '/srv/shared' }]
      const write = script('require("fs").writeFileSync("/srv/shared/file", "from before")', {
        volumeMounts,
        name: 'before',
      })
      const { securityContext } = (podTemplate('x', {}) as { spec: { containers: { securityContext: object }[] } }).spec
        .containers[0]!
      await createPod(
        'started',
        script(`console.log(require("fs").readFileSync("/srv/shared/file", "utf8")); ${FOREVER}`, { volumeMounts }),
        {
          initContainers: [{ ...write, securityContext }],
          volumes: [{ name: 'shared', emptyDir: {} }],
        },
      )
      await eventually('the main container has read the file', () =>
        said('started').some((line) => line.endsWith('from before')),
      )
    },
    TIMEOUT_MS,
  )

  it(
    'writes a changed annotation into the file of a running pod',
    async () => {
      const code =
        'setInterval(() => console.log("address " + require("fs").readFileSync("/etc/pod/address", "utf8")), 200)'
      const items = [
        { path: 'address', fieldRef: { fieldPath: "metadata.annotations['session-service/announced-address']" } },
      ]
      await createPod('annotated', script(code, { volumeMounts: [{ name: 'pod', mountPath: '/etc/pod' }] }), {
        volumes: [{ name: 'pod', downwardAPI: { items } }],
      })
      await eventually('the file is empty', () => said('annotated').some((line) => line.endsWith('address ')))
      await cluster.api.patch(`${CORE}/pods/annotated`, {
        metadata: { annotations: { 'session-service/announced-address': '203.0.113.7' } },
      })
      await eventually('the file has the address', () =>
        said('annotated').some((line) => line.endsWith('address 203.0.113.7')),
      )
    },
    TIMEOUT_MS,
  )

  it(
    'runs the hook before the stop signal, and kills what does not end within the grace period',
    async () => {
      const code = `process.on("SIGTERM", () => console.log("signal")); console.log("up"); ${FOREVER}`
      const preStop = { exec: { command: ['node', '--eval', 'process.exit(0)'] } }
      await createPod('stubborn', script(code, { lifecycle: { preStop } }), { terminationGracePeriodSeconds: 4 })
      await eventually('it is up', () => said('stubborn').some((line) => line.endsWith('up')))
      await cluster.api.delete(`${CORE}/pods/stubborn`)
      await eventually('it has the signal', () => said('stubborn').some((line) => line.endsWith('signal')))
      expect(pods('stubborn')).toHaveLength(1)
      await eventually('it is gone', () => pods('stubborn').length === 0)
    },
    TIMEOUT_MS,
  )

  it(
    'restarts a container whose liveness probe fails',
    async () => {
      const livenessProbe = {
        exec: { command: ['node', '--eval', 'process.exit(1)'] },
        periodSeconds: 1,
        failureThreshold: 2,
        timeoutSeconds: 5,
      }
      await createPod('unhealthy', script(FOREVER, { livenessProbe }))
      await eventually(
        'it has restarted',
        () => (pods('unhealthy')[0]?.status.containerStatuses[0]?.restartCount ?? 0) > 0,
      )
      await cluster.api.delete(`${CORE}/pods/unhealthy`, { gracePeriodSeconds: 1 })
    },
    TIMEOUT_MS,
  )

  it(
    'keeps the former pod of a Deployment while the new one does not become ready',
    async () => {
      const spec = { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }
      const make = (build: string): object => {
        const made = deployment('rolled', podTemplate('rolled', script(`/* ${build} */ ${FOREVER}`))) as {
          spec: object
        }
        return { ...made, spec: { ...made.spec, ...spec } }
      }
      await cluster.api.create(DEPLOYMENTS, make('one'))
      await eventually('the first pod is ready', () => readyPods('rolled').length === 1)
      const [first] = readyPods('rolled')
      const release = cluster.kubelet.holdUnready(
        ({ metadata }) => metadata.labels.app === 'rolled' && metadata.uid !== first?.metadata.uid,
      )
      await cluster.api.patch(`${DEPLOYMENTS}/rolled`, make('two'))
      await eventually(
        'the second pod runs',
        () => pods('rolled').filter(({ status }) => status.phase === 'Running').length === 2,
      )
      expect(readyPods('rolled').map(({ metadata }) => metadata.uid)).toEqual([first?.metadata.uid])
      release()
      await cluster.api.delete(`${DEPLOYMENTS}/rolled`)
    },
    TIMEOUT_MS,
  )

  it(
    'refuses an eviction that a budget forbids',
    async () => {
      await cluster.api.create(DEPLOYMENTS, deployment('budgeted', podTemplate('budgeted', script(FOREVER))))
      await cluster.api.create(`/apis/policy/v1/namespaces/${SPACE}/poddisruptionbudgets`, {
        metadata: { name: 'budgeted' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'budgeted' } } },
      })
      await eventually('it is ready', () => readyPods('budgeted').length === 1)
      await expect(cluster.evict(readyPods('budgeted')[0]!)).rejects.toMatchObject({ status: 429 })
      await cluster.api.patch(`${DEPLOYMENTS}/budgeted`, { spec: { replicas: 2 } })
      await eventually('two are ready', () => readyPods('budgeted').length === 2)
      const [evicted] = readyPods('budgeted')
      await until('the eviction is permitted', () => cluster.evict(evicted!), TIMEOUT_MS)
      await eventually(
        'another pod replaces it',
        () => readyPods('budgeted').filter(({ metadata }) => metadata.uid !== evicted?.metadata.uid).length === 2,
      )
    },
    TIMEOUT_MS,
  )

  it(
    'starts no pods on a node under memory pressure, and marks a pod that the node evicts',
    async () => {
      const [first, second] = cluster.kubelet.nodes
      await cluster.pressure(first!, 'MemoryPressure')
      const template = podTemplate('placed', script(FOREVER))
      await until(
        'the controllers have tainted the node',
        async () =>
          JSON.stringify(await cluster.api.request('GET', `/api/v1/nodes/${first?.name}`)).includes(
            'node.kubernetes.io/memory-pressure',
          ),
        TIMEOUT_MS,
      )
      await cluster.api.create(DEPLOYMENTS, deployment('placed', template, { replicas: 3 }))
      await eventually('all are ready', () => readyPods('placed').length === 3)
      expect(readyPods('placed').map(({ spec }) => spec.nodeName)).toEqual(Array(3).fill(second?.name))
      const [evicted] = readyPods('placed')
      await cluster.kubelet.failPod(evicted!.metadata.name, 'Evicted', 'The node was low on resource: memory.')
      await eventually('its status says so', () => pods('placed').some(({ status }) => status.reason === 'Evicted'))
      await eventually('another pod replaces it', () => readyPods('placed').length === 3)
      await cluster.pressure(first!)
    },
    TIMEOUT_MS,
  )
})
