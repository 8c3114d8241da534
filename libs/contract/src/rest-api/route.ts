import type { z } from 'zod'
import { ErrorView } from '../rest/error.js'

export const PREFIX = '/service/api'
export const PAID = 'the operation is not part of this edition'

export interface Answer {
  description: string
  /** The schema of the JSON body; absent for an empty body. */
  schema?: z.ZodType
  /** The type of a body that is not JSON. */
  contentType?: string
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An operation of the REST API, used by the documentation, the client and tests. */
export interface Route {
  method: Method
  /** The path with parameters in braces: `/service/api/sessions/{sessionId}`. */
  path: string
  tag: string
  summary: string
  body?: z.ZodType
  query?: z.ZodObject
  answers: Readonly<Record<number, Answer>>
  /** The operation that replaces a deprecated one. */
  deprecated?: string
}

/** A successful answer with a body. */
export const ok = <S extends z.ZodType>(
  description: string,
  schema: S,
): { 200: { description: string; schema: S } } => ({
  200: { description, schema },
})
export const done = (description: string): { 200: Answer } => ({ 200: { description } })
export const gone = (description: string): { 204: Answer } => ({ 204: { description } })

const fault = (description: string): Answer => ({ description, schema: ErrorView })

/** Error answers by status. */
export const faults = <const T extends Readonly<Record<number, string>>>(byStatus: T): { [S in keyof T]: Answer } =>
  Object.fromEntries(Object.entries(byStatus).map(([status, text]) => [status, fault(text)])) as {
    [S in keyof T]: Answer
  }

/** Additional answers of every operation. */
export const COMMON_ANSWERS: Readonly<Record<number, Answer>> = faults({
  401: 'The Authorization header is missing or wrong',
  403: 'The role of the credential does not permit the operation, or a page of an origin that `SERVICE_CORS_ORIGINS` does not name sent a request that changes data',
  429: 'Invalid credentials after too many failed attempts from this address, or more requests with these credentials than SERVICE_REST_RATE_LIMIT permits: retry after `Retry-After` seconds',
  503: 'Temporarily unavailable: retry after `Retry-After` seconds',
})
/** Additional answers of every operation with a request body. */
export const BODY_ANSWERS: Readonly<Record<number, Answer>> = faults({
  400: 'Invalid body; the message names each invalid field',
  413: 'The body is larger than 1 MiB',
  415: 'The body is not JSON in UTF-8',
})
/** Additional answers of every operation with parameters in its path. */
export const PATH_ANSWERS: Readonly<Record<number, Answer>> = faults({
  400: 'The path is not UTF-8',
  414: 'An id in the path is longer than 256 characters',
})
/** Additional answers of every operation with query parameters. */
export const QUERY_ANSWERS: Readonly<Record<number, Answer>> = faults({
  400: 'Invalid query; the message names each invalid parameter',
})
/** Additional answers of every POST to a request with an `Idempotency-Key`. */
export const POST_ANSWERS: Readonly<Record<number, Answer>> = faults({
  400: 'The `Idempotency-Key` is malformed',
  409: 'A request with this `Idempotency-Key` is in progress',
  422: 'A different request used this `Idempotency-Key`',
})
