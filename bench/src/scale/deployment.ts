import { freePorts } from '@session-service/local-stack'
import { descendantsOf, heapInUse, inspectable, memoryOf, type Stack, startStack } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'
import { median } from '../figures/statistics.js'
import { Caller } from './calls.js'
import { insertSessions } from './insert-sessions.js'

export const KINDS = ['POST session', 'POST connection', 'GET session', 'DELETE session'] as const
type Kind = (typeof KINDS)[number]

const HEAP_SAMPLES = 6

/** Cost of one kind of call: the median latency, and the CPU time per call. */
interface Cost {
  ms: number
  masterMicroseconds: number
  databaseMicroseconds: number
}

export interface DeploymentRun {
  costs: Record<Kind, Cost>
  listFirstMs: number
  listLastMs: number
}

/** A master with its own Postgres and a given number of live sessions. */
export class Deployment {
  private constructor(
    readonly sessions: number,
    private readonly stack: Stack,
    private readonly caller: Caller,
    private readonly inspectorPort: number,
  ) {}

  static async start(sessions: number): Promise<Deployment> {
    const [port = 0] = await freePorts(1)
    const stack = await startStack({ nodes: 0, ownPostgres: true, masterEnv: inspectable(port) })
    await insertSessions(stack, sessions)
    await stack.postgres.query('ANALYZE')
    // Its workers start at any time, and their work is not part of a call.
    await stack.postgres.query('ALTER SYSTEM SET autovacuum = off')
    await stack.postgres.query('SELECT pg_reload_conf()')
    return new Deployment(sessions, stack, new Caller(stack), port)
  }

  /** Sends `calls` calls of each kind, one at a time; deletes the sessions that it creates. */
  async run(calls: number): Promise<DeploymentRun> {
    const own: string[] = []
    const existing = (at: number): string => `room-${1 + ((at * 7_919) % this.sessions)}`
    const costs = {
      'POST session': await this.#measure(calls, async () => void own.push(await this.caller.create())),
      'POST connection': await this.#measure(
        calls,
        async (at) => void (await this.caller.createConnection(own[at] ?? '')),
      ),
      'GET session': await this.#measure(calls, (at) => this.caller.get(existing(at))),
      'DELETE session': await this.#measure(calls, (at) => this.caller.delete(own[at] ?? '')),
    }
    const { firstMs, lastMs } = await this.caller.list()
    return { costs, listFirstMs: firstMs, listLastMs: lastMs }
  }

  /** Bytes of the master's heap in use: the minimum of samples, as one collection does not free everything. */
  async heap(): Promise<number> {
    const samples: number[] = []
    for (let count = 0; count < HEAP_SAMPLES; count++) samples.push(await heapInUse(this.inspectorPort))
    return Math.min(...samples)
  }

  /** Maximum growth of the master's resident memory while the whole list is read, bytes. */
  async growthWhileListing(): Promise<{ growth: number; bytes: number }> {
    const pid = this.#master
    const before = memoryOf(pid)
    let most = before
    const watch = setInterval(() => (most = Math.max(most, memoryOf(pid))), 20)
    const { bytes } = await this.caller.list()
    clearInterval(watch)
    return { growth: most - before, bytes }
  }

  async stop(): Promise<void> {
    await this.caller.close()
    await this.stack.stop()
  }

  get #master(): number {
    const [master] = this.stack.masters
    if (!master) throw new Error('the stack has no master')
    return master.pid
  }

  async #measure(calls: number, call: (at: number) => Promise<void>): Promise<Cost> {
    const database = this.stack.postgres.server?.pid
    const read = () => [cpuSeconds(this.#master), database === undefined ? 0 : secondsOfTree(database)] as const
    const before = read()
    const times: number[] = []
    for (let at = 0; at < calls; at++) {
      const start = performance.now()
      await call(at)
      times.push(performance.now() - start)
    }
    const after = read()
    const perCall = (side: 0 | 1): number => ((after[side] - before[side]) / calls) * 1e6
    return { ms: median(times), masterMicroseconds: perCall(0), databaseMicroseconds: perCall(1) }
  }
}

/** CPU seconds of a Postgres and its processes; a process that ends meanwhile counts as zero. */
const secondsOfTree = (pid: number): number =>
  [pid, ...descendantsOf(pid).map((child) => child.pid)].reduce((sum, each) => sum + secondsOf(each), 0)

function secondsOf(pid: number): number {
  try {
    return cpuSeconds(pid)
  } catch {
    return 0
  }
}
