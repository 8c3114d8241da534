import { Client } from 'undici'
import { serveHelper } from '../helper/serve.js'
import { LOAD, type LoadResult } from './api.js'

const SESSION_BODY = JSON.stringify({ mediaMode: 'ROUTED', recordingMode: 'MANUAL' })
const CONNECTION_BODY = JSON.stringify({ type: 'WEBRTC', role: 'PUBLISHER', data: '{"user":"Ada"}' })
const ID = /"id":"([^"]+)"/

/**
 * One application: it sends the next call when the last one is answered. It uses undici's low-level `dispatch`, which
 * costs half the CPU of `request`: on a small machine the load generator takes CPU from the servers.
 */
class Caller {
  calls = 0
  readonly #client: Client

  constructor(
    url: string,
    private readonly headers: Record<string, string>,
  ) {
    this.#client = new Client(url, { pipelining: 1 })
  }

  async runUntil(end: number): Promise<void> {
    while (performance.now() < end) {
      const [, id] = ID.exec(await this.#post('/service/api/sessions', SESSION_BODY)) ?? []
      if (id === undefined) throw new Error('the answer to POST sessions has no id')
      await this.#post(`/service/api/sessions/${id}/connection`, CONNECTION_BODY)
    }
    await this.#client.close()
  }

  #post(path: string, body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let status = 0
      let text = ''
      this.#client.dispatch(
        { method: 'POST', path, headers: this.headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_, code) => void (status = code),
          onResponseData: (_, chunk) => void (text += chunk.toString()),
          onResponseEnd: () => {
            this.calls++
            if (status === 200) resolve(text)
            else reject(new Error(`POST ${path} answered ${status}: ${text}`))
          },
          onResponseError: (_, error) => reject(error),
        },
      )
    })
  }
}

async function run(url: string, secret: string, connections: number, seconds: number): Promise<LoadResult> {
  const authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  const callers = Array.from({ length: connections }, () => new Caller(url, headers))
  const started = performance.now()
  await Promise.all(callers.map((caller) => caller.runUntil(started + seconds * 1000)))
  const ended = performance.now()
  return { calls: callers.reduce((sum, { calls }) => sum + calls, 0), seconds: (ended - started) / 1000 }
}

serveHelper(LOAD, {
  run: ({ url, secret, connections, seconds }) => run(url, secret, connections, seconds),
})
