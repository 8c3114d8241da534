// What helm and a real API server make of the chart: `[{ name, check }]`, each check resolving to its problems.
import { documentsOf } from './documents.mjs'
import { CHART, goldenCases, render } from './goldens.mjs'
import { admissionProblems, enforceRestricted } from './pod-security.mjs'
import { run } from './programs.mjs'

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

async function stateOf(call) {
  const deployment = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/calls-session-service-media-node`
  const [{ body: secrets }, { body: nodes }] = await Promise.all([
    call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets`),
    call('GET', deployment),
  ])
  const own = secrets.items.filter(({ type }) => type === 'Opaque')
  const ports = nodes.spec?.template.spec.containers.flatMap((each) => each.ports).filter(({ hostPort }) => hostPort)
  return {
    secrets: Object.fromEntries(own.map(({ metadata, data }) => [metadata.name, data])),
    ports: ports?.map(({ protocol, hostPort }) => `${protocol} ${hostPort}`).join(', '),
    surge: nodes.spec?.strategy.rollingUpdate.maxSurge,
  }
}

const FIRST = 'UDP 20000, TCP 20000, UDP 20001, TCP 20001'
const SECOND = 'UDP 20002, TCP 20002, UDP 20003, TCP 20003'
/** `ports` and `surge` of the media nodes after each command of helm. */
const RELEASES = [
  { args: ['install', 'calls', CHART], ports: FIRST, surge: 0 },
  { args: ['upgrade', 'calls', CHART], ports: FIRST, surge: 1 },
  { args: ['upgrade', 'calls', CHART, '--set', 'mediaNodes.image.tag=v2'], ports: SECOND, surge: 1 },
  { args: ['upgrade', 'calls', CHART, '--set', 'mediaNodes.image.tag=v2,master.replicas=3'], ports: SECOND, surge: 1 },
  { args: ['upgrade', 'calls', CHART, '--set', 'mediaNodes.image.tag=v3'], ports: FIRST, surge: 1 },
  {
    args: ['upgrade', 'calls', CHART, '--set', 'mediaNodes.image.tag=v3,mediaNodes.restartId=1'],
    ports: SECOND,
    surge: 1,
  },
  {
    args: ['upgrade', 'calls', CHART, '--set', 'mediaNodes.image.tag=v3,mediaNodes.restartId=2'],
    ports: FIRST,
    surge: 1,
  },
  { args: ['rollback', 'calls', '4'], ports: SECOND, surge: 1 },
  { args: ['uninstall', 'calls'], ports: undefined, surge: undefined },
  { args: ['install', 'calls', CHART], ports: FIRST, surge: 0 },
]

/** Secrets stay the same, and changed media nodes get the other set of ports. */
async function releaseProblems(helm, { call, kubeconfig }) {
  const problems = []
  let before
  for (const { args, ports, surge } of RELEASES) {
    // Nothing runs the Jobs of hooks here.
    await run(helm, [...args, '--namespace', NAMESPACE, '--no-hooks', '--kubeconfig', kubeconfig])
    const state = await stateOf(call)
    before ??= state.secrets
    const step = args.join(' ').replace(CHART, '')
    if (JSON.stringify(state.secrets) !== JSON.stringify(before)) problems.push(`${step}: the secrets have changed`)
    if (state.ports !== ports) problems.push(`${step}: ports ${state.ports}, expected ${ports}`)
    if (state.surge !== surge) problems.push(`${step}: maxSurge ${state.surge}, expected ${surge}`)
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
  return [...objects, ...admissions, { name: 'releases', check: () => releaseProblems(helm, server) }]
}
