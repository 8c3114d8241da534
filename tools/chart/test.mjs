// npm run test:chart: helm lint, golden files, rejected values, kubeconform, and releases on a kube-apiserver where the
// programs are available. Options: --update writes the golden files, --build builds missing programs from Go modules.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { documentsOf } from './documents.mjs'
import { withApiServer } from './api-server.mjs'
import { CHART, ROOT, goldenCases, goldenText, readGolden, rejectedCases, render, writeGolden } from './goldens.mjs'
import { KUBERNETES, buildProgram, findOpenApi, findProgram, run, toolsFolder } from './programs.mjs'
import { clusterTests } from './releases.mjs'
import { relationProblems } from './relations.mjs'
import { writeSchemas } from './schemas.mjs'

/** Objects of operators, of which Kubernetes has no schema. */
const CUSTOM_KINDS = [
  ...['HTTPRoute', 'GCPBackendPolicy', 'HealthCheckPolicy', 'BackendConfig'],
  ...['PodMonitor', 'ServiceMonitor', 'PrometheusRule', 'ScaledObject'],
]

const results = { passed: 0, failed: 0 }

/** `check` resolves to the problems of a case. */
async function test(name, check) {
  const problems = await check().catch((error) => [error.stderr || error.stack])
  results[problems.length === 0 ? 'passed' : 'failed'] += 1
  if (problems.length > 0) console.log(`FAILED ${name}\n${problems.join('\n').trimEnd()}`)
}

async function lint(helm, { values }) {
  await run(helm, ['lint', CHART, '--strict', '--quiet', '--kube-version', KUBERNETES, '--values', values])
  return []
}

/** The first line that differs. */
function difference(expected, actual) {
  const [one, other] = [expected.split('\n'), actual.split('\n')]
  const index = one.findIndex((line, at) => line !== other[at])
  return `line ${index + 1}: expected ${JSON.stringify(one[index])}, rendered ${JSON.stringify(other[index])}`
}

function golden(each, yaml, { update }) {
  if (update) writeGolden(each, yaml)
  const expected = readGolden(each)
  if (expected === undefined) return [`${each.golden} does not exist: run with --update`]
  const actual = goldenText(yaml, each.values)
  return expected === actual ? [] : [difference(expected, actual), 'run with --update if the change is intended']
}

async function rejected(helm, { values, message }) {
  if (message === undefined) return [`${values} does not begin with "# rejected: …"`]
  try {
    await render(helm, values)
  } catch (error) {
    return error.stderr.includes(message) ? [] : [`expected ${message}`, error.stderr]
  }
  return [`helm accepts it, expected ${message}`]
}

async function conformance(kubeconform, schemas, each) {
  const args = ['-strict', '-summary', '-skip', CUSTOM_KINDS.join(','), '-schema-location', schemas]
  const { stdout } = await run(kubeconform, [...args, each.golden]).catch((error) => error)
  return / Invalid: 0, Errors: 0/.test(stdout ?? '') ? [] : [stdout]
}

async function programs({ build }) {
  const need = async (name) => findProgram(name) ?? (build ? await buildProgram(name) : undefined)
  const helm = await need('helm')
  const kubeconform = await need('kubeconform')
  const openApi = await findOpenApi({ download: build })
  return { helm, kubeconform, openApi }
}

async function main(options) {
  const known = ['--update', '--build']
  const unknown = options.filter((option) => !known.includes(option))
  if (unknown.length > 0) throw new Error(`unknown option ${unknown.join(', ')}: one of ${known.join(', ')}`)
  const { helm, kubeconform, openApi } = await programs({ build: options.includes('--build') })
  if (!helm) {
    console.log(`helm is neither in PATH nor in ${toolsFolder()}: "npm run test:chart -- --build" builds it with go`)
    return 2
  }
  for (const each of goldenCases()) {
    await test(`lint ${each.name}`, () => lint(helm, each))
    const update = options.includes('--update')
    await test(`golden ${each.name}`, async () => golden(each, await render(helm, each.values), { update }))
  }
  for (const each of rejectedCases()) await test(`rejected ${each.name}`, () => rejected(helm, each))
  await test('relations', () => relationProblems(helm))
  for (const each of recipes()) await test(`recipe ${each.name}`, () => recipe(helm, each))
  await checkNats(helm)
  await checkConformance({ kubeconform, openApi })
  await checkCluster(helm)
  console.log(`${results.passed} passed, ${results.failed} failed`)
  return results.failed === 0 ? 0 : 1
}

/** The value files of the documentation. */
const recipes = () =>
  [...readFileSync(join(ROOT, 'docs/deploy/kubernetes.md'), 'utf8').matchAll(/```yaml\n([^]*?)```/g)].map(
    ([, values], index) => ({ name: `${index + 1} of kubernetes.md`, values }),
  )

async function recipe(helm, { values }) {
  const folder = mkdtempSync(join(tmpdir(), 'recipe-'))
  try {
    const file = join(folder, 'values.yaml')
    writeFileSync(file, values)
    return await lint(helm, { values: file })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** nats-server reads the configuration with the variables of its pod. */
async function natsConfiguration(program, helm, { values }) {
  const documents = documentsOf(await render(helm, values))
  const config = documents.find(({ kind, data }) => kind === 'ConfigMap' && data['nats.conf'])?.data['nats.conf']
  if (config === undefined) return []
  const folder = mkdtempSync(join(tmpdir(), 'nats-'))
  const password = 's1234567'
  const passwords = { MASTER_PASSWORD: password, NODE_PASSWORD: password, ROUTE_PASSWORD: password }
  const env = { ...passwords, POD_NAME: 'nats-0', ROUTES: `["nats://route:${password}@127.0.0.1:6222"]` }
  try {
    const file = join(folder, 'nats.conf')
    writeFileSync(file, config)
    await run(program, ['-t', '-c', file], { env })
    return []
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkNats(helm) {
  const program = process.env.NATS_SERVER_BIN ?? findProgram('nats-server')
  if (!program) return console.log('nats-server is missing: its configuration is not checked')
  for (const each of goldenCases()) await test(`nats ${each.name}`, () => natsConfiguration(program, helm, each))
}

async function checkConformance({ kubeconform, openApi }) {
  if (!kubeconform || !openApi || !existsSync(openApi)) {
    console.log('kubeconform or the OpenAPI document of Kubernetes is missing: not checked (--build fetches them)')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'schemas-'))
  try {
    writeSchemas(openApi, folder)
    const schemas = join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json')
    for (const each of goldenCases())
      await test(`kubeconform ${each.name}`, () => conformance(kubeconform, schemas, each))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkCluster(helm) {
  const [etcd, kubeApiserver] = [findProgram('etcd'), findProgram('kube-apiserver')]
  if (!etcd || !kubeApiserver) return console.log('etcd or kube-apiserver is missing: no release is installed')
  await withApiServer({ etcd, kubeApiserver }, async (server) => {
    for (const { name, check } of await clusterTests(helm, server)) await test(name, check)
  })
}

process.exitCode = await main(process.argv.slice(2))
