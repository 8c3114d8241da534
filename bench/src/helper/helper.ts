import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describeExit } from '@session-service/local-stack'
import { Answer, type HelperApi, type HelperParams, type HelperResult } from './api.js'

const STOP_MS = 3_000

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** A helper process of the benchmark, so that its CPU is counted separately. It exits with this process. */
export class Helper<A extends HelperApi> {
  readonly #pending = new Map<number, PendingCall>()
  #calls = 0

  private constructor(
    private readonly api: A,
    private readonly child: ChildProcess,
    readonly pid: number,
    private readonly name: string,
  ) {
    child.on('message', (message) => this.#settle(message))
    child.once('exit', (code) => this.#rejectAll(code))
  }

  /** Starts a module that calls `serveHelper` with the same api. */
  static async start<A extends HelperApi>(api: A, module: URL): Promise<Helper<A>> {
    const file = fileURLToPath(module)
    const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    await once(child, 'spawn')
    if (child.pid === undefined) throw new Error(`${file} has no process id`)
    return new Helper(api, child, child.pid, file)
  }

  /** Rejects with the error of the other process, or when that process exits before it answers. */
  async call<M extends keyof A & string>(method: M, params: HelperParams<A, M>): Promise<HelperResult<A, M>> {
    const schema = this.api[method]?.[1]
    if (!schema || !this.child.connected) throw new Error(`cannot call ${method} of ${this.name}`)
    const id = ++this.#calls
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    // The caller may have failed already for another reason: avoid an unhandled rejection.
    answer.catch(() => undefined)
    this.child.send({ id, method, params })
    return schema.parse(await answer) as HelperResult<A, M>
  }

  /** Ends the process, with SIGKILL after a timeout. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, 'exit')
    if (this.child.connected) this.child.disconnect()
    const killTimer = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(killTimer)
  }

  #settle(message: unknown): void {
    const { id, result, error } = Answer.parse(message)
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error === undefined) pending?.resolve(result)
    else pending?.reject(new Error(error))
  }

  #rejectAll(code: number | null): void {
    const error = new Error(`${this.name} exited: ${describeExit(code)}`)
    for (const pending of this.#pending.values()) pending.reject(error)
    this.#pending.clear()
  }
}
