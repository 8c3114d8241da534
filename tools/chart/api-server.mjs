// A kube-apiserver with etcd, alone: it validates, stores and merges objects, and runs nothing.
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TOKEN = 'test'
const START_MS = 120_000
const POLL_MS = 200

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

function writeCredentials(folder, port) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  writeFileSync(join(folder, 'tokens.csv'), `${TOKEN},admin,admin,system:masters\n`)
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: { token: TOKEN } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  }
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig))
}

function etcdArguments(folder, client, peer) {
  const url = (port) => `http://127.0.0.1:${port}`
  return [
    ...['--data-dir', join(folder, 'etcd'), '--initial-cluster', `default=${url(peer)}`],
    ...['--listen-client-urls', url(client), '--advertise-client-urls', url(client)],
    ...['--listen-peer-urls', url(peer), '--initial-advertise-peer-urls', url(peer)],
  ]
}

const apiArguments = (folder, etcd, port) => [
  ...[`--etcd-servers=http://127.0.0.1:${etcd}`, `--secure-port=${port}`, `--cert-dir=${join(folder, 'certs')}`],
  ...[
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--service-cluster-ip-range=10.0.0.0/24,fd00:10::/112',
  ],
  ...['--service-account-issuer=https://kubernetes.default.svc', '--authorization-mode=RBAC'],
  ...[`--service-account-key-file=${join(folder, 'sa.key')}`, `--token-auth-file=${join(folder, 'tokens.csv')}`],
  ...[`--service-account-signing-key-file=${join(folder, 'sa.key')}`, '--endpoint-reconciler-type=none'],
  // No controller creates the service account of a namespace.
  '--disable-admission-plugins=ServiceAccount',
]

/** One call of the API: `{ status, body }`. */
const callApi = (port) => (method, path, body) =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const options = { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false }
    const outgoing = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data) => (text += data))
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json')
        resolve({ status: response.statusCode, body: isJson ? JSON.parse(text) : text })
      })
    })
    outgoing.on('error', reject).end(body && JSON.stringify(body))
  })

async function untilReady(call, children) {
  const end = performance.now() + START_MS
  for (;;) {
    const ready = await call('GET', '/readyz').catch(() => undefined)
    if (ready?.status === 200) return
    if (children.some(({ exitCode }) => exitCode !== null)) throw new Error('etcd or kube-apiserver ended at its start')
    if (performance.now() > end) throw new Error(`kube-apiserver is not ready after ${START_MS / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function stop(child) {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill()
  await ended
}

/** Starts both programs, calls `use({ call, kubeconfig })`, and ends them. */
export async function withApiServer({ etcd, kubeApiserver }, use) {
  const folder = mkdtempSync(join(tmpdir(), 'api-server-'))
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()]
  writeCredentials(folder, port)
  const start = (program, args, log) => {
    const output = openSync(join(folder, log), 'w')
    return spawn(program, args, { stdio: ['ignore', output, output], cwd: folder })
  }
  const children = [
    start(etcd, etcdArguments(folder, client, peer), 'etcd.log'),
    start(kubeApiserver, apiArguments(folder, client, port), 'kube-apiserver.log'),
  ]
  try {
    const call = callApi(port)
    await untilReady(call, children)
    return await use({ call, kubeconfig: join(folder, 'kubeconfig') })
  } finally {
    for (const child of children.toReversed()) await stop(child)
    rmSync(folder, { recursive: true, force: true })
  }
}
