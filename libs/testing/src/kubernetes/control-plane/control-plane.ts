import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts, ManagedProcess, until } from '@session-service/local-stack'
import type { AddressBlock } from '../addresses/addresses.js'
import { type ApiAccess, KubernetesApi } from './api-client.js'
import { type KubernetesPrograms, requirePrograms } from './programs.js'

const START_TIMEOUT_MS = 90_000
const STOP_TIMEOUT_MS = 10_000

/** The API server, its store, the controllers and the scheduler, on loopback and free ports. */
export interface ControlPlane {
  api: KubernetesApi
  access: ApiAccess
  programs: KubernetesPrograms
  /** Its files, deleted by `stop`. */
  folder: string
  /** The path of a kubeconfig of an administrator. */
  kubeconfig: string
  /** The last output of each program, for messages of failed tests. */
  lastLines(): string[]
  stop(): Promise<void>
}

export async function startControlPlane(block: AddressBlock): Promise<ControlPlane> {
  const builder = new ControlPlaneBuilder(block)
  try {
    return await builder.build()
  } catch (error) {
    await builder.stop().catch(() => {})
    throw error
  }
}

class ControlPlaneBuilder {
  readonly #programs = requirePrograms()
  readonly #folder = mkdtempSync(join(tmpdir(), 'kubernetes-'))
  readonly #started: ManagedProcess[] = []
  readonly #token = randomBytes(24).toString('hex')
  readonly #block: AddressBlock
  #api: KubernetesApi | undefined
  #isStopping = false

  constructor(block: AddressBlock) {
    this.#block = block
  }

  async build(): Promise<ControlPlane> {
    const [store = 0, peer = 0, secure = 0] = await freePorts(3)
    this.#writeKeys()
    await this.#start('etcd', this.#programs.etcd, storeArguments(this.#folder, store, peer))
    const server = await this.#start('kube-apiserver', this.#programs.apiServer, this.#serverArguments(store, secure))
    const url = `https://127.0.0.1:${secure}`
    const ca = await this.#certificate(server)
    const access: ApiAccess = { url, token: this.#token, ca }
    const kubeconfig = join(this.#folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigOf(access), { mode: 0o600 })
    const api = (this.#api = new KubernetesApi(access))
    await this.#untilServing(server, api)
    await this.#supervise(
      'kube-controller-manager',
      this.#programs.controllerManager,
      this.#controllerArguments(kubeconfig),
    )
    await this.#supervise('kube-scheduler', this.#programs.scheduler, [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--secure-port=0',
    ])
    const lastLines = (): string[] =>
      this.#started.flatMap(({ name, lastLines: lines }) => lines.map((line) => `${name} ${line}`))
    return {
      api,
      access,
      programs: this.#programs,
      folder: this.#folder,
      kubeconfig,
      lastLines,
      stop: () => this.stop(),
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#api?.close()
    // The last started first: the store goes after its clients.
    for (const each of this.#started.toReversed()) await each.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #writeKeys(): void {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    mkdirSync(join(this.#folder, 'certificates'))
    writeFileSync(this.#serviceAccountKey, privateKey, { mode: 0o600 })
    writeFileSync(join(this.#folder, 'tokens.csv'), `${this.#token},admin,admin,system:masters\n`, { mode: 0o600 })
  }

  get #serviceAccountKey(): string {
    return join(this.#folder, 'service-accounts.key')
  }

  get #certificateFile(): string {
    return join(this.#folder, 'certificates/apiserver.crt')
  }

  async #start(name: string, command: string, args: readonly string[]): Promise<ManagedProcess> {
    const started = await ManagedProcess.start({
      name,
      command,
      args,
      env: { PATH: process.env.PATH ?? '', HOME: this.#folder },
      cwd: this.#folder,
      stopTimeoutMs: STOP_TIMEOUT_MS,
      whenReady: async () => {},
    })
    this.#started.push(started)
    return started
  }

  /** These programs exit when the API server rejects their first requests, and rely on being started again. */
  async #supervise(name: string, command: string, args: readonly string[]): Promise<void> {
    const started = await this.#start(name, command, args)
    void started.exited.then(() => (this.#isStopping ? undefined : this.#supervise(name, command, args)))
  }

  #serverArguments(store: number, secure: number): string[] {
    return [
      `--etcd-servers=http://127.0.0.1:${store}`,
      `--secure-port=${secure}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--cert-dir=${join(this.#folder, 'certificates')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#serviceAccountKey}`,
      `--service-account-signing-key-file=${this.#serviceAccountKey}`,
      `--token-auth-file=${join(this.#folder, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      `--service-cluster-ip-range=${this.#block.serviceRange}`,
      '--endpoint-reconciler-type=none',
      // A test waits for the eviction of the pods of a lost node; the default is five minutes.
      '--default-not-ready-toleration-seconds=5',
      '--default-unreachable-toleration-seconds=5',
    ]
  }

  #controllerArguments(kubeconfig: string): string[] {
    return [
      `--kubeconfig=${kubeconfig}`,
      `--service-account-private-key-file=${this.#serviceAccountKey}`,
      `--root-ca-file=${this.#certificateFile}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--node-monitor-period=1s',
      // The default is 50 s; less than this would declare nodes lost while a busy machine does not run their heartbeats.
      '--node-monitor-grace-period=20s',
      '--pvclaimbinder-sync-period=1s',
    ]
  }

  /** The server writes its certificate at its first start. */
  async #certificate(server: ManagedProcess): Promise<string> {
    const read = (): string => {
      failIfEnded(server)
      return readFileSync(this.#certificateFile, 'utf8')
    }
    return until('the API server has written its certificate', read, START_TIMEOUT_MS)
  }

  async #untilServing(server: ManagedProcess, api: KubernetesApi): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      failIfEnded(server)
      // The server creates these namespaces after its start.
      await Promise.all(['default', 'kube-node-lease'].map((name) => api.request('GET', `/api/v1/namespaces/${name}`)))
      return true
    }
    await until('the API server answers', isReady, START_TIMEOUT_MS)
  }
}

function failIfEnded(server: ManagedProcess): void {
  if (!server.running) throw new Error(`${server.name} has exited:\n${server.lastLines.join('\n')}`)
}

const storeArguments = (folder: string, client: number, peer: number): string[] => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=http://127.0.0.1:${client}`,
  `--advertise-client-urls=http://127.0.0.1:${client}`,
  `--listen-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-cluster=default=http://127.0.0.1:${peer}`,
]

/** JSON is YAML. */
const kubeconfigOf = ({ url, token, ca }: ApiAccess): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'rig', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'rig', context: { cluster: 'rig', user: 'admin' } }],
    'current-context': 'rig',
  })
