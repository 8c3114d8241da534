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

const cameraFailures = new WeakSet<object>()
/** Whether the status 500 of this reply shows that a camera cannot be read: no fault of the service. */
export const isCameraFailure = (reply: object): boolean => cameraFailures.has(reply)

/** The part of a Fastify request that the filter uses. */
interface HttpRequest {
  id?: string
  method: string
  /** The address before a rewrite of it. */
  originalUrl: string
}
/** The part of a Fastify reply that the filter uses. */
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
  /** The level of the log entry; none when left out. */
  log?: 'error' | 'warn'
  isCameraFailure?: boolean
}

/** Instead of those of Fastify, which name neither the header nor the part of the path, and repeat a path of any length. */
const FASTIFY_MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'the body is too large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'Content-Type: is not a media type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'Content-Length: is not the size of the body',
  FST_ERR_BAD_URL: 'the path is not UTF-8 with percent-encoding',
  FST_ERR_MAX_PARAM_LENGTH: 'an id in the path is too long',
}

const messageOfFastify = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? FASTIFY_MESSAGES[String(error.code)] : undefined

function messageOfException(exception: HttpException): string {
  // Nest wraps most errors of Fastify.
  const known = messageOfFastify(exception.cause)
  if (known !== undefined) return known
  const response = exception.getResponse()
  if (typeof response === 'string') return response
  const message = 'message' in response ? response.message : undefined
  if (Array.isArray(message)) return message.join('; ')
  return typeof message === 'string' ? message : exception.message
}

/** An error of Fastify itself, before a route is found. */
const isFastifyError = (error: unknown): error is Error & { statusCode: number } =>
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
  if (isFastifyError(error)) return { status: error.statusCode, message: messageOfFastify(error) ?? error.message }
  const known = error instanceof ServiceError ? error : translate(error)
  if (!known || known.code === 'INTERNAL') return INTERNAL
  const status = HTTP_STATUS[known.code]
  const isCamera = known.code === 'CAMERA_FAILED'
  return { status, message: known.message, ...(status === 503 && { log: 'warn' }), isCameraFailure: isCamera }
}

/**
 * Answers every error of an HTTP request with the contract's ErrorView: ServiceError by HTTP_STATUS, HttpException with
 * its own status. Any other error is logged with its stack and answered without details. Errors on the bus pass through.
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

  /** For errors that Nest does not handle: pass it to Fastify as `frameworkErrors`. */
  readonly answer = (error: unknown, request: HttpRequest, response: object): void => {
    const reply = response as HttpReply
    const { status, message, log, isCameraFailure: isCamera } = answerOf(error, this.#translate)
    if (isCamera) cameraFailures.add(response)
    // Some messages repeat the URL of the request.
    const text = redactText(message)
    const path = request.originalUrl.split('?', 1)[0] ?? ''
    const requestId = request.id ?? ''
    if (log) this.#logger[log]({ err: error, requestId, method: request.method, path, status }, 'request failed')
    if (reply.sent || reply.raw.headersSent) {
      // A part of the answer is sent: only a closed connection signals that the rest is missing.
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
