import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Environment,
  MEMORY_VARIABLES,
  PROPERTIES,
  PROPERTY_NAMES,
  SYSTEM_VARIABLES,
} from '@session-service/config'
import { isErrno, poll } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { type LaunchedNode, type NodeDriver, type NodeLaunch, NodeLaunchError } from '../driver/node-driver.js'
import { oldestOf, processesWith } from './own-processes.js'

/** The media node is bundled if this program is. */
const PROGRAM = process.argv[1]?.endsWith('/dist/bundle/main.js') ? 'bundle/main.js' : 'main.js'
const MEDIA_NODE = join(import.meta.dirname, '../../../../media-node/dist', PROGRAM)
/** Environment variable that identifies the processes of a node, also its workers. */
const ID_VARIABLE = 'MEDIA_NODE_ID'
/** A second SIGTERM makes a node end without draining, ms after the first. */
const SECOND_SIGNAL_MS = 300
/** Time to end after the last SIGTERM and after SIGKILL, ms. */
const END_MS = 3_000
const POLL_MS = 50

interface ProcessOptions {
  /** Environment of the master; media nodes inherit the properties that apply to them. */
  env: Environment
  natsUrl: string
  /** Script of the media node, run with Node. */
  main?: string
}

/**
 * Runs media nodes as processes on the machine of the master. They survive the end or crash of the master with their
 * sessions, and any master of the machine finds them by their environment.
 */
export class ProcessDriver implements NodeDriver {
  readonly environment = 'process'
  readonly startsNodes = true
  readonly sharesMachine = true
  readonly #logger = new Logger(ProcessDriver.name)
  readonly #main: string

  constructor(private readonly options: ProcessOptions) {
    this.#main = options.main ?? MEDIA_NODE
  }

  async launch({ id, environmentId = `process-${id}` }: NodeLaunch, signal: AbortSignal): Promise<LaunchedNode> {
    signal.throwIfAborted()
    if ((await processesWith(ID_VARIABLE, id)).length > 0) return { environmentId }
    if (!existsSync(this.#main)) throw new NodeLaunchError(`no media node program at ${this.#main}`)
    const child = spawn(process.execPath, ['--enable-source-maps', this.#main], {
      env: this.#environmentOf(id, environmentId),
      // A separate session: signals to the process group of the master do not reach the node.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await spawned(child)
    child.unref()
    this.#logger.log({ mediaNodeId: id, nodePid: child.pid }, 'launched the process of the media node')
    return { environmentId, ended: exitOf(child) }
  }

  async drop({ id }: { id: string }): Promise<void> {
    for (const [signal, timeoutMs] of [
      ['SIGTERM', SECOND_SIGNAL_MS],
      ['SIGTERM', END_MS],
      ['SIGKILL', END_MS],
    ] as const) {
      if (await this.#stop(id, signal, timeoutMs)) return
    }
    throw new Error(`media node ${id} did not end`)
  }

  /** Signals the node. True when it has ended within the timeout. */
  async #stop(id: string, signal: NodeJS.Signals, timeoutMs: number): Promise<boolean> {
    const pids = await processesWith(ID_VARIABLE, id)
    // Workers end with their node; SIGKILL is sent to each process.
    for (const pid of signal === 'SIGKILL' ? pids : await oldestOf(pids)) kill(pid, signal)
    const hasEnded = await poll(async () => (await processesWith(ID_VARIABLE, id)).length === 0, {
      everyMs: POLL_MS,
      timeoutMs,
    })
    return hasEnded ?? false
  }

  #environmentOf(id: string, environmentId: string): Record<string, string> {
    const { env, natsUrl } = this.options
    const names = PROPERTY_NAMES.filter((name) => PROPERTIES[name].audience !== 'master')
    return {
      ...MEMORY_VARIABLES,
      ...Object.fromEntries(
        [...SYSTEM_VARIABLES, ...names].flatMap((name) => {
          const value = env[name]
          return value === undefined ? [] : [[name, value]]
        }),
      ),
      NATS_URL: natsUrl,
      // Several nodes share the machine: each takes free ports.
      SERVICE_OPS_PORT: '0',
      MEDIA_NODE_RTC_PORT: '0',
      MEDIA_NODE_JOIN: 'true',
      MEDIA_NODE_ENVIRONMENT_ID: environmentId,
      [ID_VARIABLE]: id,
    }
  }
}

const spawned = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new NodeLaunchError(`spawning the process failed: ${error.message}`)))
  })

const exitOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === null ? `terminated by ${signal}` : `exited with code ${code}`),
    )
  })

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error
  }
}
