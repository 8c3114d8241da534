// Checks of releases by helm and a real API server: `[{ name, check }]`, each check resolving to its problems.
import { digest } from '../bootstrap/cache.mjs'
import { documentsOf } from './documents.mjs'
import { CHART, goldenCases, render } from './goldens.mjs'
import { admissionProblems, enforceRestricted } from './pod-security.mjs'
import { KUBERNETES, run } from './programs.mjs'

const NAMESPACE = 'conference'

/** The collection of a kind; undefined for kinds of operators. */
function collections(call) {
  const known = new Map()
  return async ({ apiVersion, kind }) => {
    const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
    if (!known.has(base)) known.set(base, (await call('GET', base)).body.resources ?? [])
    const resource = known.get(base).find((each) => each.kind === kind && !each.name.includes('/'))
    if (!resource) return undefined
    return resource.namespaced ? `${base}/namespaces/${NAMESPACE}/${resource.name}` : `${base}/${resource.name}`
  }
}

/** The API server accepts every object. */
async function objectProblems(call, collectionOf, yaml) {
  const problems = []
  for (const document of documentsOf(yaml)) {
    const path = await collectionOf(document)
    if (!path) continue
    const { status, body } = await call('POST', `${path}?dryRun=All&fieldValidation=Strict`, document)
    const name = `${document.kind} ${document.metadata.name}`
    if (status >= 300) problems.push(`${name}: ${body.message}`)
  }
  return problems
}

const POLICY = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies/calls-session-service-media-node`
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/calls-session-service-media-node`
const POD_TEMPLATE = `/api/v1/namespaces/${NAMESPACE}/podtemplates/calls-session-service-media-node`
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`

/** The media nodes of the manifest: `{ template, strategy }`; undefined without a release. */
async function mediaNodesOf(call) {
  const [deployment, podTemplate] = await Promise.all([call('GET', DEPLOYMENT), call('GET', POD_TEMPLATE)])
  if (deployment.status === 200) return deployment.body.spec
  return podTemplate.status === 200 ? podTemplate.body : undefined
}

/** The host ports for media of present pods that the network policy does not admit. */
async function closedPorts(call) {
  const [policy, pods] = await Promise.all([call('GET', POLICY), call('GET', PODS)])
  if (policy.status !== 200) return []
  const [{ ports: admitted }] = policy.body.spec.ingress
  const isAdmitted = ({ protocol, hostPort }) =>
    admitted.some(
      ({ port, endPort = port, ...each }) => each.protocol === protocol && port <= hostPort && hostPort <= endPort,
    )
  const held = pods.body.items.flatMap(({ spec }) => spec.containers.flatMap(({ ports }) => ports))
  return held.filter((each) => each.hostPort && !isAdmitted(each)).map(({ hostPort }) => hostPort)
}

async function stateOf(call) {
  const { body: secrets } = await call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets`)
  const nodes = await mediaNodesOf(call)
  const own = secrets.items.filter(({ type }) => type === 'Opaque')
  const ports = nodes?.template.spec.containers.flatMap((each) => each.ports).filter(({ hostPort }) => hostPort)
  return {
    secrets: Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, data])),
    ports: ports?.map(({ protocol, hostPort }) => `${protocol} ${hostPort}`).join(', '),
    surge: nodes?.strategy?.rollingUpdate.maxSurge,
    replicas: nodes?.replicas,
  }
}

/** Does the work of the controllers of Kubernetes: one pod of the manifest, and the former ready one until this one is ready. */
async function rollOut(call, { isReady }) {
  const template = (await mediaNodesOf(call))?.template
  const name = `media-node-${digest(JSON.stringify(template ?? {}))}`
  const { items } = (await call('GET', PODS)).body
  if (template && !items.some(({ metadata }) => metadata.name === name)) {
    const { labels } = template.metadata
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: template.spec }
    const { status, body } = await call('POST', PODS, pod)
    if (status >= 300) throw new Error(body.message)
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
    await call('PUT', `${PODS}/${name}/status`, { ...body, status: { phase: 'Running', conditions } })
  }
  const isServing = ({ status }) => status.conditions.some((each) => each.type === 'Ready' && each.status === 'True')
  const former = items.filter((pod) => pod.metadata.name !== name && (isReady || !isServing(pod)))
  for (const { metadata } of former) await call('DELETE', `${PODS}/${metadata.name}`)
}

const portsFrom = (first, count) =>
  Array.from({ length: count }, (_, index) => `UDP ${first + index}, TCP ${first + index}`).join(', ')
const FIRST = portsFrom(20_000, 2)
const SECOND = portsFrom(20_002, 2)
const upgrade = (values) => ['upgrade', 'calls', CHART, '--set', values]
/** `ports` and `surge` of the media nodes after each command of helm; with `isReady: false` their pod never becomes ready. */
const RELEASES = [
  { args: ['install', 'calls', CHART], ports: FIRST, surge: 0 },
  // The same pods keep their strategy.
  { args: ['upgrade', 'calls', CHART], ports: FIRST, surge: 0 },
  { args: upgrade('mediaNodes.image.tag=v2'), ports: SECOND, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v2,master.replicas=3'), ports: SECOND, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v3'), ports: FIRST, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v3,mediaNodes.restartId=1'), ports: SECOND, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v3,mediaNodes.restartId=2'), ports: FIRST, surge: 1 },
  { args: ['rollback', 'calls', '4'], ports: SECOND, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=missing1'), ports: FIRST, surge: 1, isReady: false },
  { args: upgrade('mediaNodes.image.tag=missing2'), ports: FIRST, surge: 1, isReady: false },
  { args: upgrade('mediaNodes.image.tag=v4'), ports: FIRST, surge: 1 },
  // The pod of the Deployment drains while masters start the next one.
  { args: upgrade('mediaNodes.image.tag=v4,mediaNodes.scaling.mode=driver'), ports: SECOND, surge: undefined },
  { args: upgrade('mediaNodes.image.tag=v4'), ports: FIRST, surge: 0 },
  { args: upgrade('mediaNodes.image.tag=v5'), ports: SECOND, surge: 1 },
  // 20000 to 20003 overlaps the ports of the present pod.
  { args: upgrade('mediaNodes.image.tag=v5,mediaNodes.workers=4'), ports: portsFrom(20_004, 4), surge: 1 },
  // Both sets do: the present pod goes first.
  { args: upgrade('mediaNodes.image.tag=v5,mediaNodes.workers=6'), ports: portsFrom(20_006, 6), surge: 0 },
  // The policy admits the ports of the pod that drains.
  { args: upgrade('mediaNodes.image.tag=v5,mediaNodes.workers=2'), ports: FIRST, surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v6,mediaNodes.rtcPort=41000'), ports: portsFrom(41_002, 2), surge: 1 },
  { args: upgrade('mediaNodes.image.tag=v6,mediaNodes.replicas=5'), ports: FIRST, surge: 1, replicas: 5 },
  { args: upgrade('mediaNodes.image.tag=v6,mediaNodes.scaling.mode=hpa'), ports: FIRST, surge: 1, replicas: 5 },
  { args: upgrade('mediaNodes.image.tag=v7,mediaNodes.scaling.mode=hpa'), ports: SECOND, surge: 1, replicas: 5 },
  { args: ['uninstall', 'calls'], ports: undefined, surge: undefined },
  { args: ['install', 'calls', CHART], ports: FIRST, surge: 0 },
]

/** Secrets stay the same, and changed media nodes get ports that no ready one holds. */
async function releaseProblems(helm, { call, kubeconfig }) {
  const problems = []
  let before
  for (const { args, ports, surge, replicas, isReady = true } of RELEASES) {
    // Nothing runs the Jobs of hooks here.
    await run(helm, [...args, '--namespace', NAMESPACE, '--no-hooks', '--kubeconfig', kubeconfig])
    const state = await stateOf(call)
    before ??= state.secrets
    const step = args.join(' ').replace(CHART, '')
    if (JSON.stringify(state.secrets) !== JSON.stringify(before)) problems.push(`${step}: the secrets have changed`)
    if (state.ports !== ports) problems.push(`${step}: ports ${state.ports}, expected ${ports}`)
    if (state.surge !== surge) problems.push(`${step}: maxSurge ${state.surge}, expected ${surge}`)
    if (replicas !== undefined && state.replicas !== replicas) problems.push(`${step}: ${state.replicas} replicas`)
    const closed = await closedPorts(call)
    if (closed.length > 0) problems.push(`${step}: the network policy does not admit the ports ${closed.join(', ')}`)
    await rollOut(call, { isReady })
  }
  return problems
}

const BUNDLED = ['switched', CHART]
const EXTERNAL = [
  ...BUNDLED,
  '--set',
  'postgres.enabled=false,externalPostgres.url=postgres://user:p1@db.example/calls',
]

/** The bundled Postgres has the same password, which its volume knows, after the use of another database. */
async function switchProblems(helm, { call, kubeconfig }) {
  const where = ['--namespace', NAMESPACE, '--no-hooks', '--kubeconfig', kubeconfig, '--reset-values']
  const passwords = []
  for (const values of [BUNDLED, EXTERNAL, BUNDLED]) {
    await run(helm, ['upgrade', '--install', ...values, ...where])
    const { body } = await call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/switched-session-service-postgres`)
    passwords.push(body.data?.password)
  }
  const isKept = passwords[0] && passwords.every((each) => each === passwords[0])
  return isKept ? [] : [`the password of the bundled Postgres is in turn ${passwords.join(', ')}`]
}

/** The strategy of the only master by the access mode of its existing claim; undefined: there is no claim. */
const STRATEGIES = [
  ['ReadWriteMany', 'RollingUpdate'],
  ['ReadWriteOnce', 'Recreate'],
  [undefined, 'Recreate'],
]

async function claimProblems(helm, { call, kubeconfig }) {
  const problems = []
  for (const [mode, expected] of STRATEGIES) {
    const name = `claim-${mode ?? 'missing'}`.toLowerCase()
    const spec = { accessModes: [mode], resources: { requests: { storage: '1Gi' } } }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec }
    if (mode) await call('POST', `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`, claim)
    const values = `master.replicas=1,callRecords.enabled=true,callRecords.volume.existingClaim=${name}`
    const where = ['--namespace', NAMESPACE, '--kubeconfig', kubeconfig, '--kube-version', KUBERNETES]
    const { stdout } = await run(helm, ['template', 'claims', CHART, '--set', values, ...where, '--dry-run=server'], {
      maxBuffer: 2 ** 26,
    })
    const master = documentsOf(stdout).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-master'),
    )
    const actual = master?.spec.strategy.type
    if (actual !== expected) problems.push(`${name}: strategy ${actual}, expected ${expected}`)
  }
  return problems
}

export async function clusterTests(helm, server) {
  const { call } = server
  await call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  await enforceRestricted(call)
  const collectionOf = collections(call)
  const objects = goldenCases().map((each) => ({
    name: `objects ${each.name}`,
    check: async () => objectProblems(call, collectionOf, await render(helm, each.values)),
  }))
  const admissions = goldenCases().map((each) => ({
    name: `restricted ${each.name}`,
    check: async () => admissionProblems(call, await render(helm, each.values)),
  }))
  return [
    ...objects,
    ...admissions,
    { name: 'claims', check: () => claimProblems(helm, server) },
    { name: 'releases', check: () => releaseProblems(helm, server) },
    { name: 'switch of databases', check: () => switchProblems(helm, server) },
  ]
}
