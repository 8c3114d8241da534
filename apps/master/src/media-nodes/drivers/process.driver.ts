import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Environment, PROPERTIES, PROPERTY_NAMES, SYSTEM_VARIABLES } from '@session-service/config'
import { isErrno } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { type LaunchedNode, type NodeDriver, type NodeLaunch, NodeLaunchError } from './node-driver.js'
import { oldestOf, processesWith } from './own-processes.js'

const MEDIA_NODE = join(import.meta.dirname, '../../../../media-node/dist/main.js')
/** In the environment of each: by this it is found again, also by the workers that it started. */
const MARK = 'MEDIA_NODE_ID'
/** Asked twice to end, a node does so in order; then so much is left for what hangs, ms. */
const SECOND_SIGNAL_MS = 300
const END_MS = 3_000
const POLL_MS = 50

export interface ProcessOptions {
  /** Of the master; what is there for media nodes they get too. */
  env: Environment
  natsUrl: string
  /** Started with Node. */
  main?: string
}

/**
 * Media nodes as processes on the master's own machine. They are no part of the master: when it ends or dies they go on
 * with their sessions, and any master of the machine finds them again by what stands in their environment.
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
    if ((await processesWith(MARK, id)).length > 0) return { environmentId }
    if (!existsSync(this.#main)) throw new NodeLaunchError(`there is no media node at ${this.#main}`)
    const child = spawn(process.execPath, ['--enable-source-maps', this.#main], {
      env: this.#environmentOf(id, environmentId),
      // A session of its own: signals for the master's group are not meant for it.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await started(child)
    child.unref()
    this.#logger.log(`media node ${id} is process ${child.pid}`)
    return { environmentId, ended: endOf(child) }
  }

  async drop({ id }: { id: string }): Promise<void> {
    for (const [signal, patienceMs] of [
      ['SIGTERM', SECOND_SIGNAL_MS],
      ['SIGTERM', END_MS],
      ['SIGKILL', END_MS],
    ] as const) {
      if (await this.#isGone(id, signal, patienceMs)) return
    }
    throw new Error(`media node ${id} does not end`)
  }

  async #isGone(id: string, signal: NodeJS.Signals, patienceMs: number): Promise<boolean> {
    const pids = await processesWith(MARK, id)
    // Workers end with their node; only what hangs is ended one by one.
    for (const pid of signal === 'SIGKILL' ? pids : await oldestOf(pids)) kill(pid, signal)
    for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await setTimeout(POLL_MS))
      if ((await processesWith(MARK, id)).length === 0) return true
    return false
  }

  #environmentOf(id: string, environmentId: string): Record<string, string> {
    const { env, natsUrl } = this.options
    const { MEDIA_NODE_RECORDING_PATH: recordings } = env
    const names = PROPERTY_NAMES.filter((name) => PROPERTIES[name].audience !== 'master')
    return {
      ...Object.fromEntries(
        [...SYSTEM_VARIABLES, ...names].flatMap((name) => {
          const value = env[name]
          return value === undefined ? [] : [[name, value]]
        }),
      ),
      NATS_URL: natsUrl,
      // A node takes what it finds there for its own, left by its predecessor.
      ...(recordings !== undefined && { MEDIA_NODE_RECORDING_PATH: join(recordings, id) }),
      // Of several on one machine each takes what is free.
      SERVICE_OPS_PORT: '0',
      MEDIA_NODE_RTC_PORT: '0',
      MEDIA_NODE_JOIN: 'true',
      MEDIA_NODE_ENVIRONMENT_ID: environmentId,
      [MARK]: id,
    }
  }
}

const started = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new NodeLaunchError(`it could not be started: ${error.message}`)))
  })

const endOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === null ? `it was ended by ${signal}` : `it ended with code ${code}`),
    )
  })

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error
  }
}
