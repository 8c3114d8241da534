import { Client } from 'undici'
import { serveHelper } from '../helper/serve.js'
import { LOAD, type LoadRequest, type LoadResult, type Mix } from './api.js'

const SESSION_BODY = JSON.stringify({ mediaMode: 'ROUTED', recordingMode: 'MANUAL' })
const CONNECTION_BODY = JSON.stringify({ type: 'WEBRTC', role: 'PUBLISHER', data: '{"user":"Ada"}' })
const RIGHTS_BODY = JSON.stringify({ role: 'SUBSCRIBER' })
const ID = /"id":"([^"]+)"/

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

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

  async runUntil(end: number, mix: Mix): Promise<void> {
    while (performance.now() < end) {
      const session = await this.#create('/service/api/sessions', SESSION_BODY)
      const connection = await this.#create(`${session}/connection`, CONNECTION_BODY)
      if (mix === 'creation') continue
      await this.#call('GET', session)
      await this.#call('GET', connection)
      await this.#call('PATCH', connection, RIGHTS_BODY)
      await this.#call('DELETE', connection)
      await this.#call('DELETE', session)
    }
    await this.#client.close()
  }

  /** Returns the path of what was created. */
  async #create(path: string, body: string): Promise<string> {
    const [, id] = ID.exec(await this.#call('POST', path, body)) ?? []
    if (id === undefined) throw new Error(`the answer to POST ${path} has no id`)
    return `${path}/${id}`
  }

  #call(method: Method, path: string, body: string | null = null): Promise<string> {
    const headers = body === null ? this.headers : { ...this.headers, 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      let status = 0
      let text = ''
      this.#client.dispatch(
        { method, path, headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_, code) => void (status = code),
          onResponseData: (_, chunk) => void (text += chunk.toString()),
          onResponseEnd: () => {
            this.calls++
            if (status === 200 || status === 204) resolve(text)
            else reject(new Error(`${method} ${path} answered ${status}: ${text}`))
          },
          onResponseError: (_, error) => reject(error),
        },
      )
    })
  }
}

async function run({ url, secret, connections, seconds, mix }: LoadRequest): Promise<LoadResult> {
  const authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
  const callers = Array.from({ length: connections }, () => new Caller(url, { authorization }))
  const started = performance.now()
  await Promise.all(callers.map((caller) => caller.runUntil(started + seconds * 1000, mix)))
  const ended = performance.now()
  return { calls: callers.reduce((sum, { calls }) => sum + calls, 0), seconds: (ended - started) / 1000 }
}

serveHelper(LOAD, { run })
