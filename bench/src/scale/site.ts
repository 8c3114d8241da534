import { RecordingProperties } from '@session-service/contract'
import { freePorts } from '@session-service/local-stack'
import { descendantsOf, heapInUse, inspectable, memoryOf, type Stack, startStack } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'
import { median } from '../figures/statistics.js'
import { Caller } from './calls.js'

export const KINDS = ['POST session', 'POST connection', 'GET session', 'DELETE session'] as const
export type Kind = (typeof KINDS)[number]

const HEAP_LOOKS = 6

/** Of one kind of call: the median in ms, and µs of CPU a call. */
export interface Cost {
  ms: number
  masterMicroseconds: number
  databaseMicroseconds: number
}

export interface SiteRun {
  costs: Record<Kind, Cost>
  listFirstMs: number
  listLastMs: number
}

/** A master and a Postgres of its own with so many live sessions. */
export class Site {
  private constructor(
    readonly sessions: number,
    private readonly stack: Stack,
    private readonly caller: Caller,
    private readonly inspectorPort: number,
  ) {}

  static async start(sessions: number): Promise<Site> {
    const [port = 0] = await freePorts(1)
    const stack = await startStack({ nodes: 0, ownPostgres: true, masterEnv: inspectable(port) })
    await stack.postgres.query(
      `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                            allow_transcoding, recording_properties)
       SELECT 'room-' || n, 'room-' || n || '_' || n, $2::bigint + n, 'ROUTED', 'MANUAL', true, 'VP8', false, $3::jsonb
       FROM generate_series(1, $1::int) AS n`,
      [sessions, Date.now(), JSON.stringify(RecordingProperties.parse({}))],
    )
    await stack.postgres.query('ANALYZE')
    // Its workers come and go, and what they do is not part of a call.
    await stack.postgres.query('ALTER SYSTEM SET autovacuum = off')
    await stack.postgres.query('SELECT pg_reload_conf()')
    return new Site(sessions, stack, new Caller(stack), port)
  }

  /** So many calls of each kind, one after the other; leaves as many sessions as it found. */
  async run(calls: number): Promise<SiteRun> {
    const own: string[] = []
    const every = (at: number): string => `room-${1 + ((at * 7_919) % this.sessions)}`
    const costs = {
      'POST session': await this.#measure(calls, async () => void own.push(await this.caller.create())),
      'POST connection': await this.#measure(
        calls,
        async (at) => void (await this.caller.createConnection(own[at] ?? '')),
      ),
      'GET session': await this.#measure(calls, (at) => this.caller.get(every(at))),
      'DELETE session': await this.#measure(calls, (at) => this.caller.delete(own[at] ?? '')),
    }
    const { firstMs, lastMs } = await this.caller.list()
    return { costs, listFirstMs: firstMs, listLastMs: lastMs }
  }

  /** Bytes of the master's heap in use: the least of some looks, as one collection alone leaves some of it for later. */
  async heap(): Promise<number> {
    const looks: number[] = []
    for (let look = 0; look < HEAP_LOOKS; look++) looks.push(await heapInUse(this.inspectorPort))
    return Math.min(...looks)
  }

  /** Bytes that the master's resident memory is at most beyond where it was, while the whole list is read. */
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
    const read = () => [cpuSeconds(this.#master), database === undefined ? 0 : ofTree(database)] as const
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

/** Of a Postgres and its processes; one that ends meanwhile counts for nothing. */
const ofTree = (pid: number): number =>
  [pid, ...descendantsOf(pid).map((child) => child.pid)].reduce((sum, each) => sum + secondsOf(each), 0)

function secondsOf(pid: number): number {
  try {
    return cpuSeconds(pid)
  } catch {
    return 0
  }
}
