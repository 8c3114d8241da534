import { STATUS_CODES } from 'node:http'
import {
  Catch,
  HttpException,
  Inject,
  Logger,
  Optional,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common'
import { ServiceError, type ErrorView } from '@session-service/contract'
import { throwError, type Observable } from 'rxjs'
import { redactText } from '../logging/redact.js'
import { serviceClock } from '../clock/reference-clock.js'
import { translateDatabaseError, type ErrorTranslator } from './database-errors.js'
import { HTTP_STATUS, RETRY_AFTER_S } from './status.js'

/** Provide an ErrorTranslator under this token to replace the one for the database. */
export const ERROR_TRANSLATOR = Symbol('ERROR_TRANSLATOR')

/** What is used of a Fastify request. */
export interface HttpRequest {
  id?: string
  method: string
  url: string
}
/** What is used of a Fastify reply. */
interface HttpReply {
  sent: boolean
  raw: { headersSent: boolean; destroy(): void }
  code(status: number): HttpReply
  header(name: string, value: string): HttpReply
  send(body: ErrorView): unknown
}

interface Answer {
  status: number
  message: string
  /** Worth a line in the log, and how loud. */
  log?: 'error' | 'warn'
}

function messageOfException(exception: HttpException): string {
  const response = exception.getResponse()
  if (typeof response === 'string') return response
  const message = 'message' in response ? response.message : undefined
  if (Array.isArray(message)) return message.join('; ')
  return typeof message === 'string' ? message : exception.message
}

/** What the HTTP server itself refuses before any route is found. */
const isServerRefusal = (error: unknown): error is Error & { statusCode: number } =>
  error instanceof Error &&
  'code' in error &&
  String(error.code).startsWith('FST_') &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode < 500

const INTERNAL: Answer = { status: 500, message: 'internal error', log: 'error' }

function answerOf(error: unknown, translate: ErrorTranslator): Answer {
  if (error instanceof HttpException) {
    const status = error.getStatus()
    return { status, message: messageOfException(error), ...(status >= 500 && { log: 'error' }) }
  }
  if (isServerRefusal(error)) return { status: error.statusCode, message: error.message }
  const known = error instanceof ServiceError ? error : translate(error)
  if (!known || known.code === 'INTERNAL') return INTERNAL
  const status = HTTP_STATUS[known.code]
  return { status, message: known.message, ...(status === 503 && { log: 'warn' }) }
}

/**
 * Every error of the HTTP edge becomes the contract's ErrorView: ServiceError by one table, HttpException as it is,
 * anything else is logged with its stack and answered without detail. On the bus errors pass through untouched.
 */
@Catch()
export class HttpErrorFilter implements ExceptionFilter {
  readonly #logger = new Logger('HttpErrorFilter')
  readonly #translate: ErrorTranslator

  constructor(@Optional() @Inject(ERROR_TRANSLATOR) translate?: ErrorTranslator) {
    this.#translate = translate ?? translateDatabaseError
  }

  catch(error: unknown, host: ArgumentsHost): Observable<never> | undefined {
    if (host.getType() !== 'http') return throwError(() => error)
    const http = host.switchToHttp()
    this.answer(error, http.getRequest<HttpRequest>(), http.getResponse<object>())
    return undefined
  }

  /** For errors outside of the framework's reach: give it to Fastify as `frameworkErrors`. */
  readonly answer = (error: unknown, request: HttpRequest, response: object): void => {
    const reply = response as HttpReply
    const { status, message, log } = answerOf(error, this.#translate)
    // Some messages repeat the URL that was asked for.
    const text = redactText(message)
    const path = request.url.split('?', 1)[0] ?? ''
    const requestId = request.id ?? ''
    if (log) this.#logger[log]({ err: error, requestId, method: request.method, path, status }, 'request failed')
    if (reply.sent || reply.raw.headersSent) {
      // Half an answer is out: only a broken connection tells the client that the rest is missing.
      reply.raw.destroy()
      return
    }
    if (requestId) reply.header('x-request-id', requestId)
    if (status === 503) reply.header('retry-after', String(RETRY_AFTER_S))
    if (status === 401) reply.header('www-authenticate', 'Basic realm="service"')
    reply
      .code(status)
      .send({ timestamp: serviceClock.now(), status, error: STATUS_CODES[status] ?? 'Error', message: text, path })
  }
}
