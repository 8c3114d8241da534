import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describeExit } from '@session-service/local-stack'
import { Answer, type HelperApi, type HelperParams, type HelperResult } from './api.js'

const STOP_MS = 3_000

interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** A process of the benchmark's own, so that its cost is counted apart. It ends with this one. */
export class Helper<A extends HelperApi> {
  readonly #waiting = new Map<number, Waiting>()
  #calls = 0

  private constructor(
    private readonly api: A,
    private readonly child: ChildProcess,
    readonly pid: number,
    private readonly name: string,
  ) {
    child.on('message', (message) => this.#settle(message))
    child.once('exit', (code) => this.#ended(code))
  }

  /** Starts a module that calls `serveHelper` with the same api. */
  static async start<A extends HelperApi>(api: A, module: URL): Promise<Helper<A>> {
    const file = fileURLToPath(module)
    const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    await once(child, 'spawn')
    if (child.pid === undefined) throw new Error(`${file} has no process id`)
    return new Helper(api, child, child.pid, file)
  }

  /** Rejects with what the other process threw, or when it ends before it answers. */
  async call<M extends keyof A & string>(method: M, params: HelperParams<A, M>): Promise<HelperResult<A, M>> {
    const schema = this.api[method]?.[1]
    if (!schema || !this.child.connected) throw new Error(`${this.name} cannot be asked for ${method}`)
    const id = ++this.#calls
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    // Who asks may have gone already for another reason.
    answer.catch(() => undefined)
    this.child.send({ id, method, params })
    return schema.parse(await answer) as HelperResult<A, M>
  }

  /** Ends it, by force when it does not go by itself. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, 'exit')
    if (this.child.connected) this.child.disconnect()
    const patience = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS)
    await exited
    clearTimeout(patience)
  }

  #settle(message: unknown): void {
    const { id, result, error } = Answer.parse(message)
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(error))
  }

  #ended(code: number | null): void {
    const error = new Error(`${this.name} ended: ${describeExit(code)}`)
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
  }
}
