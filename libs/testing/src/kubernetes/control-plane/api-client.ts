import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

const REQUEST_TIMEOUT_MS = 30_000
const WATCH_PAUSE_MS = 100

/** An answer of the API server other than 2xx. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError'
  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
  ) {
    super(message)
  }
}

export interface ApiAccess {
  /** `https://127.0.0.1:<port>` */
  url: string
  token: string
  /** The certificate of the authority, PEM. */
  ca: string
}

interface Identified {
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string }
}

/** Receives the objects of a watched list: each once at the beginning, then every change. */
interface Watcher<T> {
  changed(object: T): void
  deleted?(object: T): void
}

const status = z.looseObject({ reason: z.string().default(''), message: z.string().default('') })
const list = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  items: z.array(z.unknown()).nullish(),
})
const watchEvent = z.looseObject({ type: z.string(), object: z.unknown() })
const anyVersion = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) })

/** A client of the API server, typed by the schema of each answer. Paths are those of the REST API of Kubernetes. */
export class KubernetesApi {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #access: ApiAccess

  constructor(access: ApiAccess) {
    this.#access = access
  }

  async get<T>(schema: z.ZodType<T>, path: string): Promise<T> {
    return schema.parse(await this.request('GET', path))
  }

  /** Undefined when the object does not exist. */
  async find<T>(schema: z.ZodType<T>, path: string): Promise<T | undefined> {
    try {
      return await this.get(schema, path)
    } catch (error) {
      if (error instanceof KubernetesError && error.status === 404) return undefined
      throw error
    }
  }

  async list<T>(schema: z.ZodType<T>, path: string): Promise<T[]> {
    return (await this.#list(schema, path)).items
  }

  create(path: string, body: unknown): Promise<unknown> {
    return this.request('POST', path, body)
  }

  /** Merges into the object, or into its status where the path ends with /status. */
  patch(path: string, body: unknown): Promise<unknown> {
    return this.request('PATCH', path, body, 'application/merge-patch+json')
  }

  /** Does nothing when the object does not exist. */
  async delete(path: string, options: object = {}): Promise<void> {
    try {
      await this.request('DELETE', path, options)
    } catch (error) {
      // 409: the precondition of the deletion does not hold, so the object is another one.
      if (!(error instanceof KubernetesError && (error.status === 404 || error.status === 409))) throw error
    }
  }

  async request(method: string, path: string, body?: unknown, type = 'application/json'): Promise<unknown> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const answer = await this.#send(method, path, { body, type, signal })
    let text = ''
    for await (const chunk of answer) text += String(chunk)
    const code = answer.statusCode ?? 0
    if (code >= 200 && code < 300) return text === '' ? undefined : JSON.parse(text)
    throw errorOf(code, `${method} ${path}`, text)
  }

  /** Follows a list until the signal is aborted. It survives lost connections and a restart of the API server. */
  async follow<T extends Identified>(
    schema: z.ZodType<T>,
    path: string,
    watcher: Watcher<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const known = new Map<string, T>()
    while (!signal.aborted) {
      try {
        await this.#followOnce(schema, path, { watcher, known, signal })
      } catch {
        // The API server is away, or no longer has this version: the list is read again.
        await sleep(WATCH_PAUSE_MS, undefined, { signal }).catch(() => {})
      }
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  async #list<T>(schema: z.ZodType<T>, path: string): Promise<{ items: T[]; version: string }> {
    const found = list.parse(await this.request('GET', path))
    return { items: (found.items ?? []).map((item) => schema.parse(item)), version: found.metadata.resourceVersion }
  }

  async #followOnce<T extends Identified>(
    schema: z.ZodType<T>,
    path: string,
    { watcher, known, signal }: { watcher: Watcher<T>; known: Map<string, T>; signal: AbortSignal },
  ): Promise<void> {
    const listed = await this.#list(schema, path)
    const uids = new Set(listed.items.map(({ metadata }) => metadata.uid))
    for (const [uid, object] of known) if (!uids.has(uid)) remove(known, watcher, object)
    for (const object of listed.items) {
      if (known.get(object.metadata.uid)?.metadata.resourceVersion === object.metadata.resourceVersion) continue
      known.set(object.metadata.uid, object)
      watcher.changed(object)
    }
    let version = listed.version
    while (!signal.aborted) version = await this.#watchOnce(schema, path, version, { watcher, known, signal })
  }

  async #watchOnce<T extends Identified>(
    schema: z.ZodType<T>,
    path: string,
    since: string,
    { watcher, known, signal }: { watcher: Watcher<T>; known: Map<string, T>; signal: AbortSignal },
  ): Promise<string> {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${since}`
    const answer = await this.#send('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`, { signal })
    if (answer.statusCode !== 200) {
      answer.destroy()
      throw new KubernetesError(answer.statusCode ?? 0, '', `watching ${path} failed`)
    }
    let version = since
    for await (const line of createInterface({ input: answer })) {
      const event = watchEvent.parse(JSON.parse(line))
      if (event.type === 'ERROR') throw errorOf(410, path, JSON.stringify(event.object))
      version = anyVersion.parse(event.object).metadata.resourceVersion
      if (event.type === 'BOOKMARK') continue
      const object = schema.parse(event.object)
      if (event.type === 'DELETED') remove(known, watcher, object)
      else {
        known.set(object.metadata.uid, object)
        watcher.changed(object)
      }
    }
    return version
  }

  #send(
    method: string,
    path: string,
    { body, type, signal }: { body?: unknown; type?: string; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const { url, token, ca } = this.#access
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const headers = {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json',
        ...(text !== undefined && { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }),
      }
      const sent = request(new URL(path, url), { method, headers, ca, agent: this.#agent, signal }, resolve)
      sent.once('error', reject)
      sent.end(text)
    })
  }
}

function remove<T extends Identified>(known: Map<string, T>, watcher: Watcher<T>, object: T): void {
  known.delete(object.metadata.uid)
  watcher.deleted?.(object)
}

function errorOf(code: number, what: string, text: string): KubernetesError {
  const parsed = status.safeParse(jsonOf(text))
  const { reason, message } = parsed.success ? parsed.data : { reason: '', message: text }
  return new KubernetesError(code, reason, `${what}: ${code} ${message}`)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
