import { type AppProcess, until } from '@session-service/local-stack'
import { descendantsOf, holdingsOf, tcpPortsOf } from '../invariants.js'
import { type Env, type StackFacts } from '../stack/stack-env.js'
import { type Actor, type Stack, type StackOptions, startStack } from '../stack/stack.js'
import { listedWrongly, orphansAmong, rowsWithoutOwner, secretsIn } from './leftovers.js'
import { HealthWatch, statusOf } from './health-watch.js'
import { PostgresFaults } from './postgres-faults.js'
import { killFamily } from './processes.js'
import { TcpProxy } from './tcp-proxy.js'

/** The time after which an invariant that does not hold counts as broken, ms. */
const RECOVERY_TIMEOUT_MS = 60_000
/** The number of open files may vary by the size of the database pool. */
const FILES_TO_SPARE = 24
const FIRST_HOST = { master: 11, node: 21 } as const

/** The tools of a test case. */
export interface CaseTools {
  /** Writes a figure to the console: `frozen bus, recovered in ms: 2100`. */
  figure(what: string, value: string | number): void
  /** The time since the last `mark`, or since the start of the case, ms. */
  since(): number
  mark(): void
  /** Excludes a process that the case kills, freezes or blocks from the liveness check. */
  exempt(process: AppProcess): void
}

/**
 * The whole service with fault injection. Each process has its own loopback address, and each connection a proxy that can
 * cut, hold or delay it. The rig checks the invariants of the service after every case. An example:
 *
 *     let rig: FaultRig
 *     beforeAll(async () => { rig = await FaultRig.open({ nodes: 2, ownPostgres: true }) })
 *     afterAll(() => rig.close())
 *
 *     it('recovers after the bus was frozen', () => rig.run('frozen bus', async ({ figure, mark, since }) => {
 *       freeze(rig.stack.nats)
 *       await rig.becomes('not ready', rig.master(), '/readyz', 503)
 *       mark()
 *       thaw(rig.stack.nats)
 *       await rig.becomes('ready again', rig.master(), '/readyz', 200)
 *       figure('recovered in ms', since())
 *     }))
 *
 * Inject faults into processes with `kill`, `freeze`, `thaw`; into connections with
 * `rig.wire('node1', 'nats').mode = 'hang'`; into the database with `rig.postgres`. Compare events with
 * `countOf(sink.accepted…)`.
 */
export class FaultRig {
  readonly stack: Stack
  readonly postgres: PostgresFaults
  readonly #wires: Map<string, TcpProxy>
  /** The parents of all child processes seen so far, by pid. */
  readonly #children = new Map<number, number>()
  readonly #openFiles = new Map<number, number>()
  #linesChecked = 0

  static async open(options: StackOptions = {}): Promise<FaultRig> {
    const wires = new Map<string, TcpProxy>()
    try {
      const stack = await startStack({ ...options, wire: (actor, facts) => wireUp(wires, actor, facts) })
      return new FaultRig(stack, wires)
    } catch (error) {
      await closeAll(wires)
      throw error
    }
  }

  private constructor(stack: Stack, wires: Map<string, TcpProxy>) {
    this.stack = stack
    this.#wires = wires
    this.postgres = new PostgresFaults(stack.postgres)
    this.#noteChildren()
  }

  /** The proxy between a process (`master1`, `node2`) and the bus or the database. */
  wire(actor: string, to: 'nats' | 'postgres'): TcpProxy {
    const wire = this.#wires.get(`${actor}-${to}`)
    if (!wire) throw new Error(`no proxy from ${actor} to ${to}`)
    return wire
  }

  master(index = 0): AppProcess {
    return present(this.stack.masters[index])
  }

  node(index = 0): AppProcess {
    return present(this.stack.nodes[index])
  }

  /** Waits until a probe of the process answers with the status. */
  async becomes(
    what: string,
    { name, opsUrl }: AppProcess,
    path: '/healthz' | '/readyz',
    status: number,
  ): Promise<void> {
    const isSo = async (): Promise<boolean> => (await statusOf(opsUrl + path)) === status
    await until(`${name} is ${what}`, isSo, RECOVERY_TIMEOUT_MS)
  }

  /** Kills all processes at the same time and resolves, when all have exited, with a function that starts them again. */
  async killAll(exempt: CaseTools['exempt']): Promise<() => Promise<void>> {
    const { masters, nodes, nats } = this.stack
    const processes = [...masters, ...nodes]
    processes.forEach(exempt)
    for (const victim of processes) killFamily(victim)
    nats.kill()
    await this.postgres.crash()
    await Promise.all(processes.map(({ exited }) => exited))
    return async () => {
      await this.postgres.restart()
      await nats.restart()
      await Promise.all(processes.map((victim) => this.stack.revive(victim)))
    }
  }

  /** Runs a case while it polls liveness, then checks the invariants: no secret in a log, no leak. Figures show the name. */
  async run(name: string, work: (tools: CaseTools) => Promise<void>): Promise<void> {
    const watch = new HealthWatch(() => this.#processes())
    let from = performance.now()
    const tools: CaseTools = {
      figure: (what, value) => process.stderr.write(`  ${name}, ${what}: ${value}\n`),
      since: () => Math.round(performance.now() - from),
      mark: () => void (from = performance.now()),
      exempt: (process) => watch.exempt(process),
    }
    this.#noteChildren()
    try {
      await work(tools)
    } finally {
      await watch.stop()
    }
    if (watch.failures.length > 0) throw new Error(`${name}: liveness probes failed: ${watch.failures.join(', ')}`)
    await this.check()
  }

  /** Checks the invariants, and waits for the recovery up to the timeout. */
  async check(): Promise<void> {
    this.#noteChildren()
    await until('all processes are ready', () => this.#all('/readyz'), RECOVERY_TIMEOUT_MS)
    await expectNone('rows without an owner', () => rowsWithoutOwner(this.stack))
    await expectNone('sessions listed wrongly', () => listedWrongly(this.stack))
    const running = new Set(this.#processes().map(({ pid }) => pid))
    await expectNone('programs left behind', async () => orphansAmong(this.#children, running).map(String))
    await expectNone('files left open', async () => this.#filesLeftOpen())
    this.#checkLogs()
  }

  async close(): Promise<void> {
    // Removes remaining faults, so that all processes can shut down gracefully.
    for (const wire of this.#wires.values()) wire.mode = 'pass'
    try {
      await this.stack.stop()
      await expectNone('programs left behind', async () => orphansAmong(this.#children, new Set()).map(String))
    } finally {
      await closeAll(this.#wires)
    }
  }

  #processes(): AppProcess[] {
    return [...this.stack.masters, ...this.stack.nodes].filter(({ running }) => running)
  }

  async #all(path: string): Promise<boolean> {
    const statuses = await Promise.all(this.#processes().map(({ opsUrl }) => statusOf(opsUrl + path)))
    return statuses.every((status) => status === 200)
  }

  #noteChildren(): void {
    for (const process of this.#processes()) {
      const { pid } = process
      for (const child of descendantsOf(pid)) this.#children.set(child.pid, pid)
      if (!this.#openFiles.has(pid)) this.#openFiles.set(pid, ownFiles(process))
    }
  }

  #filesLeftOpen(): string[] {
    return this.#processes().flatMap((process) => {
      const more = ownFiles(process) - (this.#openFiles.get(process.pid) ?? 0)
      return more > FILES_TO_SPARE ? [`${process.name}: ${more} more than at the start`] : []
    })
  }

  #checkLogs(): void {
    const lines = this.stack.journal.lines.slice(this.#linesChecked)
    this.#linesChecked = this.stack.journal.lines.length
    const crashes = lines.filter((line) => line.includes('uncaught error, exiting') || line.includes('"level":"fatal"'))
    if (crashes.length > 0) throw new Error(`a process crashed: ${crashes.join('\n')}`)
    const leaks = secretsIn(lines, this.stack)
    if (leaks.length > 0) throw new Error(`a log holds a secret: ${leaks[0]}`)
  }
}

/** The number of open files without connections from clients, which the clients close. */
function ownFiles({ pid, env }: AppProcess): number {
  const served = new Set([env.SERVICE_PORT, env.SERVICE_OPS_PORT].map(Number))
  return holdingsOf(pid).openFiles - tcpPortsOf(pid).filter((port) => served.has(port)).length
}

async function wireUp(
  wires: Map<string, TcpProxy>,
  { kind, number }: Actor,
  facts: StackFacts,
): Promise<{ facts: StackFacts; env: Env }> {
  const host = `127.0.0.${FIRST_HOST[kind] + number - 1}`
  const through = async (to: 'nats' | 'postgres', url: string, own: string): Promise<string> => {
    const { hostname, port } = new URL(url)
    const proxy = await TcpProxy.open({ host: hostname, port: Number(port) }, own)
    wires.set(`${kind}${number}-${to}`, proxy)
    return proxy.via(url)
  }
  const natsUrl = await through('nats', kind === 'node' ? facts.nodeNatsUrl : facts.natsUrl, '127.0.0.31')
  if (kind === 'node') return { facts: { ...facts, nodeNatsUrl: natsUrl }, env: { MEDIA_NODE_IP: host } }
  const databaseUrl = await through('postgres', facts.databaseUrl, '127.0.0.41')
  return { facts: { ...facts, natsUrl, databaseUrl }, env: { SERVICE_HOST: host } }
}

async function closeAll(wires: Map<string, TcpProxy>): Promise<void> {
  await Promise.all([...wires.values()].map((wire) => wire.close()))
}

async function expectNone(what: string, find: () => Promise<string[]>): Promise<void> {
  let found: string[] = []
  const isEmpty = async (): Promise<boolean> => (found = await find()).length === 0
  await until(`no ${what}`, isEmpty, RECOVERY_TIMEOUT_MS).catch((cause: unknown) => {
    throw new Error(`${what}: ${found.join('; ')}`, { cause })
  })
}

function present(process: AppProcess | undefined): AppProcess {
  if (!process) throw new Error('the stack has no such process')
  return process
}
