import { ErrorView } from '@session-service/contract'
import { type Operation, ROUTES, type Route } from '@session-service/contract/rest-api'
import type { z } from 'zod'
import { RestError } from './errors.js'
import type { RestAnswer, RestRequest, Transport } from './transport.js'

type Routes = typeof ROUTES
type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** The request body of an operation. */
export type BodyOf<O extends Operation> = Routes[O] extends { body: infer B extends z.ZodType } ? z.input<B> : never
/** The query parameters of an operation. */
export type QueryOf<O extends Operation> = Routes[O] extends { query: infer Q extends z.ZodType } ? z.input<Q> : never
type Answered<A, S extends number> = A extends Record<S, { schema: infer T extends z.ZodType }> ? z.output<T> : never
/** The result of an operation; undefined for an answer without a body. */
export type ResultOf<O extends Operation> = [Answered<Routes[O]['answers'], 200>] extends [never]
  ? void
  : Answered<Routes[O]['answers'], 200> | (Routes[O]['answers'] extends Record<204, unknown> ? undefined : never)

export interface CallOptions {
  /** Makes a POST idempotent, so that it is retried after 503 or without an answer. */
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
  /** The time limit of one attempt, ms; default: that of the client. */
  timeoutMs?: number | undefined
}

interface CallOf<O extends Operation> extends CallOptions {
  path?: Record<Names<Routes[O]['path']>, string>
  query?: QueryOf<O> | undefined
  body?: BodyOf<O> | undefined
}

function requestOf(route: Route, { path = {}, query, body, ...options }: Untyped): RestRequest {
  const url = route.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name] ?? ''))
  const parameters = Object.entries<string | undefined>({ ...(query as object) }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  )
  const search = new URLSearchParams(parameters).toString()
  return {
    method: route.method,
    path: search === '' ? url : `${url}?${search}`,
    ...(route.body && { body: body ?? {} }),
    ...options,
  }
}
interface Untyped extends CallOptions {
  path?: Record<string, string>
  query?: unknown
  body?: unknown
}

/** Rejects an empty id, `.` and `..`, which would address another path, such as the whole list. */
function segment(name: string, id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${name}: "${id}" is not an id`)
  return encodeURIComponent(id)
}

function failure({ method, path }: RestRequest, { status, body }: RestAnswer): RestError {
  const view = ErrorView.safeParse(body)
  return new RestError(`${method} ${path}`, status, view.success ? view.data : undefined, body)
}

/** Calls an operation. `accepted` lists further statuses that are no errors. Rejects with RestError or NoAnswerError. */
export async function call<O extends Operation>(
  transport: Transport,
  operation: O,
  input: CallOf<O>,
  accepted: readonly number[] = [],
): Promise<ResultOf<O>> {
  const route: Route = ROUTES[operation]
  const request = requestOf(route, input)
  const answer = await transport.send(request)
  const expected = Number(Object.keys(route.answers)[0])
  if (answer.status !== expected && !accepted.includes(answer.status)) throw failure(request, answer)
  return route.answers[answer.status]?.schema?.parse(answer.body) as ResultOf<O>
}
