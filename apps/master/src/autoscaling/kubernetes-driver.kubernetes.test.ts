import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import {
  KubernetesCluster,
  type Pod,
  ServiceApi,
  type Stack,
  startStack,
  SyntheticParticipant,
  until,
} from '@session-service/testing'
import { KubernetesAccount } from '../media-nodes/drivers/kubernetes/fixtures/kubernetes-account.js'
import { SHORTEST_FORECAST_MS } from './launch-time.js'

jest.setTimeout(300_000)

const SPACE = 'calls'
const TEMPLATE = 'calls-media-node'
const CORE = `/api/v1/namespaces/${SPACE}`
const TIMEOUT_MS = 150_000
const SCALED = {
  SERVICE_PRO_CLUSTER_AUTOSCALING: 'true',
  SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: '1',
  SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: '2',
  // A killed node returns within this time on a slow machine, too.
  SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: '120',
}
/** Two nodes, whatever the load. */
const TWO_NODES = {
  ...SCALED,
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: '2',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: '2',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: '0',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: '100',
}
/** One node is enough, and none is removed by the load: that of the machine of the test is not known. */
const ONE_NODE = { ...TWO_NODES, SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: '1' }

let cluster: KubernetesCluster
let account: KubernetesAccount
let stack: Stack
let api: ServiceApi

beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: [{ name: 'machine-1' }] })
  account = await KubernetesAccount.create(cluster, SPACE, TEMPLATE)
  stack = await startStack({ nodes: 0, masterEnv: { ...account.env(TEMPLATE), ...TWO_NODES } })
  api = stack.api
}, 240_000)
afterAll(async () => {
  await stack?.stop()
  await cluster?.stop()
  account?.delete()
}, 120_000)

const template = (version: string, container: object = {}): object => ({
  metadata: { name: TEMPLATE },
  template: {
    metadata: { labels: { app: 'calls' }, annotations: { version } },
    spec: {
      terminationGracePeriodSeconds: 150,
      containers: [
        {
          name: 'media-node',
          image: 'session-service/media-node:0.2.0',
          env: [
            { name: 'NATS_URL', value: stack.nats.nodeUrl },
            { name: 'MEDIA_NODE_WORKERS', value: '1' },
          ],
          readinessProbe: { httpGet: { port: 4481, path: '/readyz' }, periodSeconds: 1, timeoutSeconds: 5 },
          resources: {},
          ...container,
        },
      ],
    },
  },
})
const changeTemplate = (version: string, container: object = {}): Promise<unknown> =>
  cluster.api.patch(`${CORE}/podtemplates/${TEMPLATE}`, template(version, container))

interface Row {
  id: string
  status: string
  reason: string | null
  duration: number | null
}
const rows = async (): Promise<Row[]> =>
  (await stack.postgres.query('SELECT * FROM media_node ORDER BY launching_time')).map((row) => ({
    id: String(row.id),
    status: String(row.status),
    reason: typeof row.status_reason === 'string' ? row.status_reason : null,
    duration: row.launch_duration === null ? null : Number(row.launch_duration),
  }))
const running = async (): Promise<string[]> =>
  (await rows()).filter(({ status }) => status === 'running').map(({ id }) => id)
const twoRun = (): Promise<unknown> => until('two nodes run', async () => (await running()).length === 2, TIMEOUT_MS)
const podOf = (id: string): Pod | undefined =>
  cluster.pods(SPACE).find(({ metadata }) => metadata.labels['session-service/node-id'] === id)
const versionOf = (id: string): string | undefined => podOf(id)?.metadata.annotations.version

/** Two participants with media, on the node that the service chooses. */
async function call(master = 0) {
  const { id } = await api.createSession()
  const join = async () => {
    const { token } = await api.createConnection(id, { role: 'MODERATOR' })
    return SyntheticParticipant.join(stack.atMaster(master, token))
  }
  const [alice, bob] = [await join(), await join()]
  const { streamId } = await alice.publish({ width: 320, height: 180, fps: 15, kbps: 150 })
  const watched = await bob.subscribe(streamId)
  const packets = (): number => watched.stats().video?.packets ?? 0
  await until('media flows', () => packets() > 20, TIMEOUT_MS)
  return {
    nodeId: (await api.getSession(id)).mediaNodeId ?? '',
    recoveries: () => [alice, bob].flatMap(({ mediaRecoveries }) => mediaRecoveries).length,
    flows: async () => {
      const before = packets()
      await until('media still flows', () => packets() > before + 20, TIMEOUT_MS)
    },
    end: async () => {
      await alice.close()
      await bob.close()
      await api.request('DELETE', `/sessions/${id}`)
    },
  }
}

it('REST shows why a launch failed', async () => {
  const failed = await until(
    'a launch has failed',
    async () => (await rows()).find((row) => row.status === 'failed'),
    TIMEOUT_MS,
  )
  expect(failed.reason).toBe('there is no PodTemplate calls-media-node in the namespace calls')
  const { body } = await api.request('GET', '/media-nodes')
  expect(JSON.stringify(body)).toContain('"statusReason":"there is no PodTemplate')
})

it('the leader launches one pod for each node, and measures how long that takes', async () => {
  await cluster.api.create(`${CORE}/podtemplates`, template('1'))
  await twoRun()
  const nodes = (await rows()).filter(({ status }) => status === 'running')
  for (const { id, reason, duration } of nodes) {
    expect(podOf(id)?.metadata.ownerReferences).toMatchObject([{ kind: 'PodTemplate', name: TEMPLATE }])
    expect(reason).toBeNull()
    expect(duration).toBeGreaterThan(0)
  }
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
    return Number(new RegExp(`^session_service_${name} ([\\d.]+)`, 'm').exec(page)?.[1])
  }
  const slower = Math.max(SHORTEST_FORECAST_MS, ...nodes.map(({ duration }) => duration ?? 0)) / 1_000
  await until('the forecast follows', async () => (await metric('autoscaling_launch_time_seconds')) === slower)
  expect(await metric('cluster_capacity_used_ratio')).toBeGreaterThanOrEqual(0)
})

it('the leader replaces the nodes of a former template, the emptiest first, without a break in a call', async () => {
  const held = await call()
  const before = await running()
  await changeTemplate('2')
  let fewest = Infinity
  let most = 0
  await until(
    'both nodes are of the new template',
    async () => {
      const now = await running()
      fewest = Math.min(fewest, now.length)
      most = Math.max(
        most,
        (await rows()).filter(({ status }) => status === 'running' || status === 'launching').length,
      )
      return now.length === 2 && now.every((id) => versionOf(id) === '2')
    },
    TIMEOUT_MS,
  )
  expect([fewest, most]).toEqual([2, 3])
  const order = stack.journal.find('draining the outdated media node')
  expect(order).toHaveLength(2)
  const empty = before.find((id) => id !== held.nodeId)
  expect(order[0]).toContain(empty)
  expect(order[1]).toContain(held.nodeId)
  await held.flows()
  expect(held.recoveries()).toBe(0)
  expect((await rows()).find(({ id }) => id === held.nodeId)?.status).toBe('waiting-idle-to-terminate')
  const { body } = await api.request('GET', `/media-nodes/${held.nodeId}`)
  expect(body).toMatchObject({ drainDeadline: expect.any(Number), remaining: { sessions: 1 } })
  await held.end()
  await until('the pods of the former nodes are gone', () => before.every((id) => !podOf(id)), TIMEOUT_MS)
})

it('the leader keeps the nodes when the next template does not work, and says why', async () => {
  const before = await running()
  await changeTemplate('3', { image: 'session-service/absent:1' })
  const failed = await until(
    'the first new node has failed',
    async () => (await rows()).find(({ status, reason }) => status === 'failed' && reason?.includes('image')),
    TIMEOUT_MS,
  )
  expect(failed.reason).toMatch(/^its image cannot be pulled \(media-node: ImagePullBackOff\)/)
  expect((await running()).toSorted()).toEqual(before.toSorted())
  // A rollback: nothing is outdated any more. A node that was just being launched may stay in addition.
  await changeTemplate('2')
  await until(
    'no pod of the failed template is left',
    () => cluster.pods(SPACE).every(({ metadata }) => metadata.annotations.version === '2'),
    TIMEOUT_MS,
  )
  expect(await running()).toEqual(expect.arrayContaining(before))
})

it('the leader drains an evicted node with its call, and launches another one', async () => {
  const held = await call()
  const pod = podOf(held.nodeId)
  if (!pod) throw new Error('no pod')
  await cluster.evict(pod)
  await until(
    'it drains',
    async () => (await rows()).find(({ id }) => id === held.nodeId)?.status === 'waiting-idle-to-terminate',
    TIMEOUT_MS,
  )
  await until(
    'the reason is shown',
    async () => (await rows()).find(({ id }) => id === held.nodeId)?.reason?.startsWith('the pod is evicted'),
    TIMEOUT_MS,
  )
  await twoRun()
  await held.flows()
  expect(held.recoveries()).toBe(0)
  await held.end()
  await until('its pod is gone', () => podOf(held.nodeId) === undefined, TIMEOUT_MS)
})

it('the call of a killed media node moves, and the node returns in its pod', async () => {
  const held = await call()
  const pod = podOf(held.nodeId)
  process.kill(cluster.kubelet.pidsOf(pod?.metadata.name ?? '')[0] ?? 0, 'SIGKILL')
  await until('the participants have rejoined', () => held.recoveries() > 0, TIMEOUT_MS)
  await held.flows()
  await until(
    'the killed node is connected again',
    async () => (await api.listMediaNodes()).content.find(({ id }) => id === held.nodeId)?.connected,
    TIMEOUT_MS,
  )
  const restarted = podOf(held.nodeId)
  expect(restarted?.metadata.uid).toBe(pod?.metadata.uid)
  expect(restarted?.status.containerStatuses[0]?.restartCount).toBe(1)
  await held.end()
  // The autoscaling may have launched a third node meanwhile, since two are the minimum.
  await until('no node is being launched', async () => (await rows()).every(({ status }) => status !== 'launching'))
})

it('another master continues, and removes exactly the pods of the nodes that end', async () => {
  const held = await call()
  const idle = (await running()).filter((id) => id !== held.nodeId)
  await stack.addMaster({ ...account.env(TEMPLATE), ...ONE_NODE })
  api = stack.apiOf(1)
  stack.masters[0]?.kill('SIGKILL')
  for (const id of idle) await api.request('DELETE', `/media-nodes/${id}?deletion-strategy=when-no-sessions`)
  await until('one node runs', async () => (await running()).join() === held.nodeId, TIMEOUT_MS)
  await until('one pod is left', () => cluster.pods(SPACE).length === 1, TIMEOUT_MS)
  expect(podOf(held.nodeId)).toBeDefined()
  await held.flows()
  expect(held.recoveries()).toBe(0)
  await held.end()
})

it('the leader removes a pod that no row knows', async () => {
  const [id = ''] = await running()
  const [pod] = cluster.pods(SPACE)
  const stray = { ...template('2') } as { template: { metadata: object; spec: object } }
  await cluster.api.create(`${CORE}/pods`, {
    metadata: {
      ...stray.template.metadata,
      name: `${TEMPLATE}-stray`,
      labels: { app: 'calls', 'session-service/node-id': 'media_Stray' },
      ownerReferences: pod?.metadata.ownerReferences,
    },
    // It sends no heartbeats.
    spec: {
      ...stray.template.spec,
      containers: [{ name: 'media-node', image: 'nats:2.10' }],
      terminationGracePeriodSeconds: 5,
    },
  })
  await until('it exists', () => podOf('media_Stray'), TIMEOUT_MS)
  await until('it is gone', () => !podOf('media_Stray'), TIMEOUT_MS)
  expect(await running()).toEqual([id])
})
