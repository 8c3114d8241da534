import { ConnectionView, SessionView } from '@session-service/contract'
import { Pool } from 'undici'
import type { Stack } from '@session-service/testing'

const API = '/service/api/sessions'

/** A client of a master that sends the next call when the last one is answered. */
export class Caller {
  readonly #pool: Pool
  readonly #headers: Record<string, string>

  constructor({ masterUrl, secret }: Pick<Stack, 'masterUrl' | 'secret'>) {
    this.#pool = new Pool(masterUrl, { connections: 1, pipelining: 1 })
    const authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
    this.#headers = { authorization, 'content-type': 'application/json' }
  }

  async create(): Promise<string> {
    return SessionView.parse(JSON.parse(await this.#call('POST', API, 200))).id
  }
  async createConnection(sessionId: string): Promise<string> {
    return ConnectionView.parse(JSON.parse(await this.#call('POST', `${API}/${sessionId}/connection`, 200))).id
  }
  async get(sessionId: string): Promise<void> {
    await this.#call('GET', `${API}/${sessionId}`, 200)
  }
  async delete(sessionId: string): Promise<void> {
    await this.#call('DELETE', `${API}/${sessionId}`, 204)
  }

  /** Reads the list of all sessions: ms to the first and to the last byte, and its size. */
  async list(): Promise<{ firstMs: number; lastMs: number; bytes: number }> {
    const start = performance.now()
    const answer = await this.#pool.request({ method: 'GET', path: API, headers: this.#headers })
    let [firstMs, bytes] = [0, 0]
    for await (const chunk of answer.body) {
      firstMs ||= performance.now() - start
      bytes += (chunk as Buffer).length
    }
    return { firstMs, lastMs: performance.now() - start, bytes }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #call(method: 'GET' | 'POST' | 'DELETE', path: string, expected: number): Promise<string> {
    const body = method === 'POST' ? '{}' : null
    const { statusCode, body: answer } = await this.#pool.request({ method, path, headers: this.#headers, body })
    const text = await answer.text()
    if (statusCode !== expected) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`)
    return text
  }
}
