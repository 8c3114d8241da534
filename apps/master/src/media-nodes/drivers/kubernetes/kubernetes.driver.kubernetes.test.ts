import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { loadMasterConfig } from '@session-service/config'
import { KubernetesCluster, until } from '@session-service/testing'
import type { DrivenNode } from '../../driver/node-driver.js'
import { KubernetesAccount } from './fixtures/kubernetes-account.js'
import { kubernetesAccess } from './kubernetes-access.js'
import { KubernetesDriver } from './kubernetes.driver.js'

jest.setTimeout(180_000)

const SPACE = 'calls'
const TEMPLATE = 'calls-media-node'
const TIMEOUT_MS = 60_000
const CORE = `/api/v1/namespaces/${SPACE}`
const never = new AbortController().signal

let cluster: KubernetesCluster
let account: KubernetesAccount
let driver: KubernetesDriver

const driverOf = (template: string): KubernetesDriver => {
  const env = { SERVICE_SECRET: 'not-so-secret', DATABASE_URL: 'postgres://127.0.0.1/none', ...account.env(template) }
  const config = loadMasterConfig(env)
  return new KubernetesDriver({
    access: kubernetesAccess(config, {}),
    podTemplate: template,
    podSelector: config.SERVICE_KUBERNETES_POD_SELECTOR,
  })
}
/** A pod that is ready without anything else. */
const template = (container: object = {}, spec: object = {}): object => ({
  metadata: { name: TEMPLATE },
  template: {
    metadata: { labels: { app: 'calls' } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 90,
      containers: [{ name: 'media-node', image: 'nats:2.10', ...container }],
      ...spec,
    },
  },
})
const setTemplate = async (container: object = {}, spec: object = {}): Promise<void> => {
  const wanted = template(container, spec)
  await cluster.api
    .patch(`${CORE}/podtemplates/${TEMPLATE}`, wanted)
    .catch(() => cluster.api.create(`${CORE}/podtemplates`, wanted))
}
const changeTemplate = (change: object): Promise<unknown> =>
  cluster.api.patch(`${CORE}/podtemplates/${TEMPLATE}`, { template: change })

const nodes = async (of = driver): Promise<readonly DrivenNode[]> => of.nodes().catch(() => [])
const node = async (id: string): Promise<DrivenNode | undefined> => (await nodes()).find((each) => each.id === id)
const becomes = (id: string, expected: Partial<DrivenNode>): Promise<DrivenNode> =>
  until(
    `${id} is ${JSON.stringify(expected)}`,
    async () => {
      const found = await node(id)
      const isSo = found && Object.entries(expected).every(([name, value]) => found[name as keyof DrivenNode] === value)
      return isSo ? found : undefined
    },
    TIMEOUT_MS,
  )

beforeAll(async () => {
  cluster = await KubernetesCluster.start({
    nodes: [{ name: 'machine-1', capacity: { cpu: '8', memory: '8Gi', pods: '50' } }],
  })
  account = await KubernetesAccount.create(cluster, SPACE, TEMPLATE)
  driver = driverOf(TEMPLATE)
}, 240_000)
afterAll(async () => {
  await driver?.onApplicationShutdown()
  await cluster?.stop()
  account?.delete()
}, 120_000)

it('the driver rejects a launch without a template, with its name', async () => {
  await expect(driver.launch({ id: 'media_None' }, never)).rejects.toThrow('there is no PodTemplate calls-media-node')
})

it('the driver makes a pod of the template, once, and sees it become ready', async () => {
  await setTemplate()
  await expect(driver.launch({ id: 'media_Ab1' }, never)).resolves.toEqual({ environmentId: 'calls-media-node-ab1' })
  await expect(driver.launch({ id: 'media_Ab1' }, never)).resolves.toEqual({ environmentId: 'calls-media-node-ab1' })
  const found = await becomes('media_Ab1', { state: 'up' })
  expect(found).toMatchObject({ name: 'calls-media-node-ab1', isOutdated: false, isGone: false, drainMs: 60_000 })
  expect(Math.abs(Date.now() - found.createdAt)).toBeLessThan(TIMEOUT_MS)
  const pods = cluster.pods(SPACE)
  expect(pods).toMatchObject([
    {
      metadata: { ownerReferences: [{ kind: 'PodTemplate', name: TEMPLATE, controller: true }] },
      spec: { restartPolicy: 'OnFailure' },
    },
  ])
})

it('the driver rejects a launch whose pod would have the name of another one', async () => {
  await expect(driver.launch({ id: 'media_aB1' }, never)).rejects.toThrow(
    'the pod calls-media-node-ab1 exists and is not that of media node media_aB1',
  )
})

it('the driver annotates the pod with the external address of its machine', async () => {
  const annotated = async (): Promise<string | undefined> => {
    await driver.annotate([{ id: 'media_Ab1', held: 2, isDraining: false }])
    return cluster.pods(SPACE)[0]?.metadata.annotations['session-service/announced-address']
  }
  await until('it is annotated', async () => (await annotated()) === cluster.node('machine-1').address, TIMEOUT_MS)
  // The cost is for pods of ReplicaSets.
  expect(cluster.pods(SPACE)[0]?.metadata.annotations).not.toHaveProperty('controller.kubernetes.io/pod-deletion-cost')
})

it('the driver annotates the pods of a Deployment with their deletion cost, and starts none', async () => {
  const other = driverOf('')
  const cost = async (): Promise<string | undefined> => {
    // The label with the id takes the place of the name of the pod.
    await other.annotate([{ id: 'media_Ab1', held: 2, isDraining: false }]).catch(() => undefined)
    return cluster.pods(SPACE)[0]?.metadata.annotations['controller.kubernetes.io/pod-deletion-cost']
  }
  await until('it has a cost', async () => (await cost()) === '2', TIMEOUT_MS)
  await expect(other.launch({ id: 'media_X' }, never)).rejects.toThrow('a Deployment starts the media nodes')
  expect(await other.nodes()).toEqual([])
  await other.onApplicationShutdown()
})

it('the driver reports nodes of a former template as outdated, and as current again after a rollback', async () => {
  await changeTemplate({ spec: { terminationGracePeriodSeconds: 120 } })
  await becomes('media_Ab1', { isOutdated: true })
  await changeTemplate({ spec: { terminationGracePeriodSeconds: 90 } })
  await becomes('media_Ab1', { isOutdated: false })
})

it('the driver deletes the pod of a dropped node, and nothing when it does not exist', async () => {
  await driver.drop({ id: 'media_Ab1' })
  await becomes('media_Ab1', { state: 'ended', isGone: true, reason: 'the pod was deleted' })
  await driver.drop({ id: 'media_Ab1' })
  await driver.drop({ id: 'media_Unknown' })
})

it('the driver reports a pod that cannot be scheduled, with the words of the scheduler', async () => {
  await setTemplate({ resources: { requests: { cpu: '100' } } })
  await driver.launch({ id: 'media_Huge' }, never)
  const found = await until('it has a reason', async () => (await node('media_Huge'))?.reason, TIMEOUT_MS)
  expect(found).toMatch(/^the pod cannot be scheduled: 0\/1 nodes are available.*Insufficient cpu/)
  expect(await node('media_Huge')).toMatchObject({ state: 'starting' })
  await driver.drop({ id: 'media_Huge' })
})

it.each([
  ['whose image cannot be pulled', { image: 'session-service/absent:1' }, /^its image cannot be pulled/],
  [
    'that crashes',
    { image: 'session-service/media-node:0.2.0', env: [{ name: 'NATS_URL', value: 'no url' }] },
    /^it crashes again and again.*exited with code/,
  ],
])('reports a pod %s as failed', async (_, container, reason) => {
  await setTemplate(container)
  const id = `media_Bad${reason.source.length}`
  await driver.launch({ id }, never)
  const failed = await becomes(id, { state: 'failed' })
  expect(failed.reason).toMatch(reason)
  await driver.drop({ id })
  await becomes(id, { isGone: true })
})

it('the driver reports an evicted pod, and the reason when it is gone', async () => {
  await setTemplate()
  await driver.launch({ id: 'media_Evicted' }, never)
  await becomes('media_Evicted', { state: 'up' })
  const pod = cluster.pods(SPACE).find(({ metadata }) => metadata.name === 'calls-media-node-evicted')
  if (!pod) throw new Error('no pod')
  await cluster.evict(pod)
  const gone = await becomes('media_Evicted', { isGone: true })
  expect(gone.reason).toMatch(/^the pod is evicted/)
})

it('the driver rejects a launch that a quota forbids, with the words of Kubernetes', async () => {
  await cluster.api.create(`${CORE}/resourcequotas`, { metadata: { name: 'none' }, spec: { hard: { pods: '0' } } })
  await until(
    'the quota applies',
    async () => {
      const refusal = await driver.launch({ id: 'media_Quota' }, never).then(
        () => driver.drop({ id: 'media_Quota' }),
        (error: Error) => error.message,
      )
      return typeof refusal === 'string' && /^Kubernetes refused the pod: .*exceeded quota/.test(refusal)
    },
    TIMEOUT_MS,
  )
  await cluster.api.delete(`${CORE}/resourcequotas/none`)
})

it('the driver continues with the next token when the former one is refused', async () => {
  account.spoilToken()
  await expect(driver.launch({ id: 'media_Token' }, never)).rejects.toThrow(/^Kubernetes refused the pod/)
  await account.renewToken()
  await driver.launch({ id: 'media_Token' }, never)
  await becomes('media_Token', { state: 'up' })
})

it('the driver leaves its pods to the garbage collection of Kubernetes when the template is deleted', async () => {
  await cluster.api.delete(`${CORE}/podtemplates/${TEMPLATE}`)
  await becomes('media_Token', { isGone: true })
  await until('no pod is left', () => cluster.pods(SPACE).length === 0, TIMEOUT_MS)
})
