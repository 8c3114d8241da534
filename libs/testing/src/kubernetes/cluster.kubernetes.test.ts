/** @quiet it runs a whole cluster */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { until } from '@session-service/local-stack'
import { isAlive, processesNamed } from '../invariants.js'
import { ServiceApi } from '../rest/service-api.js'
import { SyntheticParticipant } from '@session-service/synthetic-participant'
import { isReady, KubernetesCluster } from './cluster.js'
import type { Pod } from './control-plane/objects.js'
import { deployment, httpProbe, namespace, podTemplate, service } from './fixtures/manifests.js'

const SPACE = 'service'
const START_MS = 180_000
const CORE = `/api/v1/namespaces/${SPACE}`
const APPS = `/apis/apps/v1/namespaces/${SPACE}`
const secretKey = (key: string): object => ({ valueFrom: { secretKeyRef: { name: 'credentials', key } } })

let cluster: KubernetesCluster
const pods = (app: string): Pod[] => cluster.pods(SPACE, { app })
const readyPods = (app: string): Pod[] => pods(app).filter(isReady)

beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: [{ name: 'node-1' }, { name: 'node-2' }] })
  await cluster.api.create('/api/v1/namespaces', namespace(SPACE))
  const stringData = { password: 'a-password', secret: 'MY_SECRET' }
  await cluster.api.create(`${CORE}/secrets`, { metadata: { name: 'credentials' }, stringData })
}, START_MS)
afterAll(() => cluster?.stop(), START_MS)

async function createServers(): Promise<void> {
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await cluster.api.create(`${CORE}/persistentvolumeclaims`, { metadata: { name: 'data' }, spec: claim })
  const postgres = podTemplate(
    'postgres',
    {
      image: 'postgres:16',
      env: [
        { name: 'POSTGRES_USER', value: 'service' },
        { name: 'POSTGRES_PASSWORD', ...secretKey('password') },
        { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
      ],
      volumeMounts: [{ name: 'data', mountPath: '/var/lib/postgresql/data' }],
      readinessProbe: { tcpSocket: { port: 5432 }, periodSeconds: 1 },
    },
    { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
  )
  const config = 'http_port: 8222\nmax_payload: 1MB\n'
  await cluster.api.create(`${CORE}/configmaps`, { metadata: { name: 'nats' }, data: { 'nats.conf': config } })
  const nats = podTemplate(
    'nats',
    {
      image: 'example.org/library/nats:2.10',
      args: ['--config', '/etc/nats/nats.conf'],
      volumeMounts: [{ name: 'config', mountPath: '/etc/nats' }],
      readinessProbe: httpProbe(8222, '/healthz'),
    },
    { volumes: [{ name: 'config', configMap: { name: 'nats' } }] },
  )
  for (const [app, template, ports] of [
    ['postgres', postgres, { postgres: 5432 }],
    ['nats', nats, { nats: 4222 }],
  ] as const) {
    await cluster.api.create(`${APPS}/deployments`, deployment(app, template))
    await cluster.api.create(`${CORE}/services`, service(app, ports))
  }
}

async function createApps(): Promise<void> {
  const master = podTemplate('master', {
    image: 'session-service/master:0.2.0',
    env: [
      { name: 'PASSWORD', ...secretKey('password') },
      { name: 'DATABASE_URL', value: 'postgres://service:$(PASSWORD)@postgres:5432/service' },
      { name: 'NATS_URL', value: 'nats://nats.service.svc:4222' },
      { name: 'SERVICE_SECRET', ...secretKey('secret') },
    ],
    readinessProbe: httpProbe(4480, '/readyz'),
    livenessProbe: { ...httpProbe(4480, '/healthz'), failureThreshold: 10 },
  })
  const node = podTemplate(
    'media-node',
    {
      image: 'session-service/media-node:0.2.0',
      env: [
        { name: 'NATS_URL', value: 'nats://nats:4222' },
        { name: 'MEDIA_NODE_WORKERS', value: '1' },
        { name: 'MEDIA_NODE_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'MEDIA_NODE_DRAIN_TIMEOUT', value: '60' },
      ],
      readinessProbe: httpProbe(4481, '/readyz'),
    },
    { terminationGracePeriodSeconds: 120 },
  )
  await cluster.api.create(`${APPS}/deployments`, deployment('master', master))
  await cluster.api.create(`${APPS}/deployments`, deployment('media-node', node))
  await cluster.api.create(`${CORE}/services`, service('master', { api: 4443 }))
}

const api = (): ServiceApi => {
  const [endpoint] = cluster.network.endpointsOf(SPACE, 'master', 4443)
  return new ServiceApi(`http://${endpoint?.host}:${endpoint?.port}`, 'MY_SECRET')
}

describe('a cluster of the process kubelet', () => {
  it(
    'runs Postgres and NATS for their pods, which become ready by their probes',
    async () => {
      await createServers()
      await until('both are ready', () => readyPods('postgres').length + readyPods('nats').length === 2, START_MS)
    },
    START_MS,
  )

  it(
    'runs a master and a media node, which find each other by the names of services',
    async () => {
      await createApps()
      await until('both are ready', () => readyPods('master').length + readyPods('media-node').length === 2, START_MS)
      await until('the service has an endpoint', () => cluster.network.endpointsOf(SPACE, 'master', 4443).length === 1)
      const { id } = await api().createSession()
      const { token } = await api().createConnection(id, {})
      const [endpoint] = cluster.network.endpointsOf(SPACE, 'master', 4443)
      const participant = await SyntheticParticipant.join((token ?? '').replace('localhost', endpoint?.host ?? ''))
      await participant.publish()
      const [node] = pods('media-node')
      expect((await api().getSession(id)).mediaNodeId).toBe(node?.metadata.name)
      await participant.close()
    },
    START_MS,
  )

  it(
    'starts a killed program again and counts the restart',
    async () => {
      const [node] = pods('media-node')
      const [pid = 0] = cluster.kubelet.pidsOf(node?.metadata.name ?? '')
      process.kill(pid, 'SIGKILL')
      await until(
        'it has been restarted',
        () => pods('media-node')[0]?.status.containerStatuses[0]?.restartCount === 1,
        START_MS,
      )
      await until('it is ready again', () => readyPods('media-node').length === 1, START_MS)
    },
    START_MS,
  )

  it(
    'ends a deleted pod gracefully and replaces it',
    async () => {
      const [node] = pods('media-node')
      const { name, uid } = node!.metadata
      const [pid = 0] = cluster.kubelet.pidsOf(name)
      await cluster.api.delete(`${CORE}/pods/${name}`)
      await until('its object is gone', () => pods('media-node').every((each) => each.metadata.uid !== uid), START_MS)
      expect(isAlive(pid)).toBe(false)
      await until('another pod is ready', () => readyPods('media-node').length === 1, START_MS)
    },
    START_MS,
  )

  it(
    'leaves a pod pending whose image cannot be pulled, with the reason of Kubernetes',
    async () => {
      const template = podTemplate('absent', { image: 'session-service/absent:1' })
      await cluster.api.create(`${APPS}/deployments`, deployment('absent', template))
      const reason = (): string | undefined => pods('absent')[0]?.status.containerStatuses[0]?.state.waiting?.reason
      await until('the reason is in its status', () => reason() === 'ImagePullBackOff', START_MS)
      await cluster.api.delete(`${APPS}/deployments/absent`)
      await until('it is gone', () => pods('absent').length === 0, START_MS)
    },
    START_MS,
  )

  it(
    'moves the pods of a lost node to another node',
    async () => {
      const [lost] = pods('media-node')
      await cluster.kubelet.killNode(cluster.node(lost?.spec.nodeName ?? ''))
      const elsewhere = (): Pod[] => readyPods('media-node').filter(({ spec }) => spec.nodeName !== lost?.spec.nodeName)
      await until('a pod on the other node is ready', () => elsewhere().length === 1, START_MS)
    },
    START_MS,
  )

  it(
    'leaves no process and no file after its end',
    async () => {
      const { folder } = cluster.plane
      expect(processesNamed(folder)).not.toEqual([])
      await cluster.stop()
      await until('all processes have ended', () => processesNamed(folder).length === 0, START_MS)
      expect(existsSync(folder)).toBe(false)
    },
    START_MS,
  )
})
